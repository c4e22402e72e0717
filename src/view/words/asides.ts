import type { DenialReason } from "#kernel";
import { counted } from "./amounts.ts";
import { clean } from "./clean.ts";
import { thrownText } from "./thrown-text.ts";
import type { DeadLetter, AgentView } from "../agent-view.ts";

/** Returns problems that did not stop the run. */
export function asides({ refusedSpawns, deadLetters, brokenTools }: AgentView): readonly string[] {
  const broken = brokenTools.at(-1);
  const hire = refusedSpawns.at(-1);
  const letter = deadLetters.at(-1);
  return [
    ...(broken ? [`${thrownText(broken)}${more(brokenTools)}.`] : []),
    ...(hire ? [`It could not hire ${hire.agent}: ${denials[hire.reason]}${more(refusedSpawns)}.`] : []),
    ...(letter ? [`A message to it was given up: ${letterText(letter)}${more(deadLetters)}.`] : []),
  ];
}

const more = (all: readonly unknown[]): string =>
  all.length > 1 ? ` (and ${all.length - 1} more before)` : "";

function letterText({ reason, attempts }: DeadLetter): string {
  const tried = attempts > 0 ? `, after ${counted(attempts, "attempt")}` : "";
  return `${letters[reason] ?? clean(reason)}${tried}`;
}

const letters: Readonly<Record<string, string>> = {
  "run-ended": "the run had ended",
  "tree-ended": "the tree had ended",
  cancelled: "the run was cancelled",
  "never-started": "the run never started",
  "no-such-agent": "nobody of that name can be hired",
  "would-deadlock": "there can never be a slot for it",
};

/** Reasons why a child could not be spawned, or a call not be made. */
export const denials: Readonly<Record<DenialReason, string>> = {
  exhausted: "the limit leaves no room for it",
  exceeded: "a provider reported more than was reserved, and the limit is exceeded",
  "wait-timed-out": "the money for it was held by others, and the time for waiting is over",
  spawned: "the tree has spawned as many as it may in all",
  full: "every slot is taken, and it did not want to wait",
  "nobody-below": "nobody alive is less important",
  "preemption-off": "this tree allows no preemption",
  "would-deadlock": "whoever would have to give way waits for it",
  unpriced: "its model has no price, and there is a cost limit",
  unbounded: "nobody knows how much its call may use, and there is a limit",
  ended: "its parent had ended",
};
