import { findJsonProblem, UnencodableError } from "#kernel";

/**
 * Checks the data that agent code passes to its tree. The driver checks it, not the engine, so that every replay gets
 * the same error. @throws UnencodableError
 */
export function checkData(method: string, argument: object | null): void {
  if (argument === null || !("data" in argument)) return;
  const problem = findJsonProblem(argument.data);
  if (problem !== null)
    throw new UnencodableError({ what: `the data of ${method}`, problem: `it${problem}` });
}
