import { ReeveError } from "./errors.ts";

/** A program that cannot run as it is written. Lists every problem, each with its fix. Never retried. */
export class ProgramError extends ReeveError {
  readonly code = "invalid-program";
  readonly problems: readonly string[];

  constructor({ problems }: { readonly problems: readonly string[] }) {
    const [first = ""] = problems;
    const list = problems.map((problem, index) => `\n${index + 1}. ${problem}`).join("");
    super(problems.length === 1 ? first : `the program has ${problems.length} problems:${list}`);
    this.problems = problems;
  }
}

/** The runtime was closed while the caller waited for a run. On a durable engine the run itself continues. */
export class RuntimeClosedError extends ReeveError {
  readonly code = "runtime-closed";

  constructor() {
    super(
      "the runtime was closed while this waited for a run: wait first, as in `return await run.result()`",
    );
  }
}
