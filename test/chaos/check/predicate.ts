import type { History } from "../history.ts";

/** A case that broke a predicate, or would have without its excuse. */
export interface Finding {
  /** The tree, run, step or key it is about. */
  readonly where: string;
  readonly what: string;
}

/** The result of a predicate for a history. */
export interface Checked {
  /** Number of cases it looked at, and their name: a predicate over nothing always holds. */
  readonly cases: number;
  readonly of: string;
  /** The violations. Empty: it holds. */
  readonly findings: readonly Finding[];
  /** Cases that are no violation only because a fault caused them. */
  readonly excused: readonly Finding[];
}

/** Something that must hold of every history. A pure function: the same history gives the same findings. */
export interface Predicate {
  readonly id: string;
  /** The property that must hold. */
  readonly claim: string;
  readonly check: (history: History) => Checked;
}
