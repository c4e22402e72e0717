import { findJsonProblem, UnencodableError } from "#kernel";

/**
 * Checks the data that agent code hands to its tree. Here, and not by the engine, so that every replay is told the same.
 * @throws UnencodableError
 */
export function checkData(method: string, argument: object | null): void {
  if (argument === null || !("data" in argument)) return;
  const problem = findJsonProblem(argument.data);
  if (problem !== null)
    throw new UnencodableError({ what: `the data of ${method}`, problem: `it${problem}` });
}
