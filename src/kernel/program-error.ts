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

/** The runtime is closed: nothing starts in it, and no caller waits in it. On a durable engine its runs continue. */
export class RuntimeClosedError extends ReeveError {
  readonly code = "runtime-closed";

  constructor() {
    super("the runtime is closed: wait for its runs first, as in `return await run.result()`");
  }
}
