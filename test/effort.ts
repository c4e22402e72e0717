import { hash } from "node:crypto";
import { expect } from "vitest";

/*
 * How much the tests try. `.ci/run` checks a change in minutes, beside whatever else the machine does: it samples what
 * is costly, and holds nothing to milliseconds. `.ci/full` tries everything, with the machine to itself.
 */

/** Whether everything is tried: `.ci/full` sets `REEVE_FULL`. */
export const isFull = process.env["REEVE_FULL"] !== undefined;

/** Decides what is sampled. The scripts set it to the commit, so that samples differ from change to change. */
export const seed = process.env["REEVE_SEED"] ?? "1";

/**
 * Returns the milliseconds that a test may wait for one condition: fewer than it may take as a whole, so that it says
 * what did not happen. `expect.poll` waits as long. `test/patience.ts` gives more where the host withholds processors.
 */
export const patienceMs = (): number => Number(process.env["REEVE_PATIENCE_MS"] ?? 40_000);

/**
 * Expects an act to have taken less than a time. Only `.ci/full` holds to that: elsewhere the machine may be busy. Unit
 * tests that call this are in files named `*.timed.test.ts`, which run alone there.
 */
export function expectWithin(limitMs: number, tookMs: number, what = "it"): void {
  if (isFull && !(tookMs < limitMs))
    expect.fail(`${what} took ${tookMs} ms, less than ${limitMs} is allowed`);
}

/**
 * Returns the cases that this commit tries: a fixed share, and at least one. Each commit tries others; `.ci/full` tries
 * all.
 */
export function sample<Case>(
  cases: readonly Case[],
  share: number,
  nameOf: (each: Case) => string = String,
): readonly Case[] {
  if (isFull) return cases;
  const lotOf = (each: Case): string => hash("sha256", `${seed} ${nameOf(each)}`);
  const drawn = cases
    .map((each) => ({ each, lot: lotOf(each) }))
    .toSorted((a, b) => (a.lot < b.lot ? -1 : 1));
  const chosen = new Set(drawn.slice(0, Math.ceil(share * cases.length)).map(({ each }) => each));
  return cases.filter((each) => chosen.has(each));
}

/** Number of runs of a property, of which `.ci/run` makes a fifth: each time with another seed. */
export const propertyRuns = (runs: number): number =>
  Number(process.env["REEVE_PROPERTY_RUNS"] ?? (isFull ? runs : Math.ceil(runs / 5)));
