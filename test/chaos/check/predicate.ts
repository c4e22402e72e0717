import type { History } from "../history.ts";

/** One thing that is wrong. */
export interface Finding {
  /** The tree, run, step or key it is about. */
  readonly where: string;
  readonly what: string;
}

/** Something that must hold of every history. A pure function: the same history gives the same findings. */
export interface Predicate {
  readonly id: string;
  /** What holds. */
  readonly claim: string;
  /** What breaks it. Nothing: it holds. */
  readonly findings: (history: History) => readonly Finding[];
  /** What was looked at, for the line that is printed: a predicate about nothing holds of anything. */
  readonly looked: (history: History) => string;
}
