import type { DenialReason } from "#kernel";
import { formatCounted } from "./amounts.ts";
import { clean } from "./clean.ts";
import { thrownText } from "./thrown-text.ts";
import type { DeadLetter, AgentView } from "../agent-view.ts";

/** Returns problems that did not stop the run. */
export function asides({ refusedSpawns, deadLetters, brokenTools }: AgentView): readonly string[] {
  const broken = brokenTools.at(-1);
  const refused = refusedSpawns.at(-1);
  const letter = deadLetters.at(-1);
  return [
    ...(broken ? [`${thrownText(broken)}${formatMore(brokenTools)}.`] : []),
    ...(refused
      ? [`It could not spawn ${refused.agent}: ${denials[refused.reason]}${formatMore(refusedSpawns)}.`]
      : []),
    ...(letter
      ? [`A message to it was not delivered: ${letterText(letter)}${formatMore(deadLetters)}.`]
      : []),
  ];
}

const formatMore = (all: readonly unknown[]): string =>
  all.length > 1 ? ` (and ${all.length - 1} more before)` : "";

function letterText({ reason, attempts }: DeadLetter): string {
  const tried = attempts > 0 ? `, after ${formatCounted(attempts, "attempt")}` : "";
  return `${letters[reason] ?? clean(reason)}${tried}`;
}

const letters: Readonly<Record<string, string>> = {
  "run-ended": "the run had ended",
  "tree-ended": "the tree had ended",
  cancelled: "the run was cancelled",
  "never-started": "the run never started",
  "sender-ended": "its sender had ended",
  "no-such-agent": "there is no agent of that name",
  "would-deadlock": "no slot can ever become free for it",
};

/** Reasons why a child could not be spawned, or a call not be made. */
export const denials: Readonly<Record<DenialReason, string>> = {
  exhausted: "the limit has no room for it",
  exceeded: "a provider reported more than was reserved, and the limit is exceeded",
  "wait-timed-out": "other calls held the budget until the wait timed out",
  spawned: "the tree has reached its total number of agents",
  full: "every slot is taken, and the spawn does not wait",
  "no-lower-priority": "no live run has a lower priority",
  "preemption-off": "preemption is off in this tree",
  "would-deadlock": "the run to preempt waits for it",
  unpriced: "its model has no price, and there is a cost limit",
  unbounded: "the size of its call is not known, and there is a limit",
  ended: "its parent had ended",
};
