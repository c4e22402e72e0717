import type { History } from "../history.ts";

/** One violation. */
export interface Finding {
  /** The tree, run, step or key it is about. */
  readonly where: string;
  readonly what: string;
}

/** Something that must hold of every history. A pure function: the same history gives the same findings. */
export interface Predicate {
  readonly id: string;
  /** The property that must hold. */
  readonly claim: string;
  /** Returns the violations. Empty: it holds. */
  readonly findFaults: (history: History) => readonly Finding[];
  /** Describes what was checked, for the report: a predicate over nothing always holds. */
  readonly describeChecked: (history: History) => string;
}
