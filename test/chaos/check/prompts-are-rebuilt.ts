import type { History, StepHistory } from "../history.ts";
import { lostMs } from "./downtime.ts";
import { journaledTimes } from "./journaled-times.ts";
import type { Predicate } from "./predicate.ts";
import { markOf } from "./reading.ts";

/**
 * I18: the prompt of every journaled model call can be rebuilt, and equals the one sent. A step may be missing only if,
 * during it, the database was down, its worker was frozen, or the machine had no processors. Non-permanent content may be
 * erased by the time it is read.
 */
export const promptsAreRebuilt: Predicate = {
  id: "I18",
  claim: "the prompt of every journaled model call is built again, as it was sent",
  check: (history) => {
    const steps = history.trees.flatMap((tree) => tree.steps);
    const erased = steps.filter(({ content }) => content === "erased").length;
    const missing = steps.filter(({ content }) => content === "not-recorded");
    const isExcused = (step: StepHistory): boolean => wasKeptFromWriting(history, step);
    return {
      cases: steps.length,
      of: `model steps, ${erased} erased`,
      findings: [
        ...steps.flatMap((step) => faultOf(step) ?? []),
        ...missing
          .filter((step) => !isExcused(step))
          .map(({ id }) => ({
            where: id,
            what: "is not recorded, and nothing kept its worker from writing",
          })),
      ],
      excused: missing.filter(isExcused).map(({ id }) => ({ where: id, what: "is not recorded" })),
    };
  },
};

function faultOf({ id, content, isEqual, isPermanent }: StepHistory): { where: string; what: string } | null {
  if (content === "recorded" && !isEqual) return { where: id, what: "is built again as something else" };
  if (content === "erased" && isPermanent) return { where: id, what: "is erased, although it is permanent" };
  return null;
}

/** After a restart a killed database is unavailable for a while, until connections are renewed. */
const afterwardsMs = 1_000;

/** A run waits for the record of a step for two seconds at most: the machine must not have lost half of that. */
const mostLostMs = 1_000;

/**
 * Whether the database was down, the process of a call of the step was frozen, or the machine had no processors, between
 * the beginning of the step and its result: what is recorded is written in that time, and must not delay the run.
 */
function wasKeptFromWriting(history: History, { id, at }: StepHistory): boolean {
  // A step without a result would be open for ever, and any later fault would excuse it.
  const window = { from: at, to: journaledTimes(history).get(id) ?? at };
  if (history.isMachineBusy || lostMs(history, window) >= mostLostMs) return true;
  const callers = new Set(history.bill.map(markOf).flatMap(({ step, pid }) => (step === id ? [pid] : [])));
  return history.disturbances.some(({ kind, pid, from, until }) => {
    if (kind === "kill-postgres") return from < window.to && window.from < until + afterwardsMs;
    return kind === "freeze-worker" && callers.has(pid) && from < window.to && window.from < until;
  });
}
