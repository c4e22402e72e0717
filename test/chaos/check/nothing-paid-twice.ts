import type { History } from "../history.ts";
import { executionsOf } from "./executions.ts";
import { journaledTimes } from "./journaled-times.ts";
import type { Predicate } from "./predicate.ts";
import { markOf, only } from "./reading.ts";

/**
 * I3: no call begins for a step whose result is journaled. One kind of call cannot be prevented: its execution had
 * passed the gate, was frozen or lost its connection, and was overtaken by another execution. That call is reserved,
 * made once, and nothing follows it.
 */
export const nothingPaidTwice: Predicate = {
  id: "I3",
  claim: "no call is sent for a step that was journaled",
  check: (history) => {
    const late = findCallsAfterJournal(history).map((call) => ({
      call,
      where: call.step,
      what: `journaled, and called again ${call.at - call.journaledAt} ms later`,
    }));
    return {
      cases: history.bill.length,
      of: "calls",
      findings: late.filter(({ call }) => !wasOvertaken(history, call)),
      excused: late.filter(({ call }) => wasOvertaken(history, call)),
    };
  },
};

/** A call that arrived after its step had been journaled. */
interface LateCall {
  readonly run: string;
  readonly step: string;
  readonly attempt: string;
  readonly epoch: string;
  readonly at: number;
  readonly journaledAt: number;
  /** Whether it is not the first call of its attempt. */
  readonly isRepeated: boolean;
}

function findCallsAfterJournal(history: History): readonly LateCall[] {
  const journaled = journaledTimes(history);
  const results = resultingAttempts(history);
  const seen = new Set<string>();
  return history.bill.flatMap((entry) => {
    const { step, attempt, epoch } = markOf(entry);
    const isRepeated = seen.has(attempt);
    seen.add(attempt);
    // The call whose answer is the result precedes it, even if two clocks differ by milliseconds.
    if (results.has(attempt) && !isRepeated) return [];
    const journaledAt = journaled.get(step) ?? Infinity;
    const call = { run: String(entry.run), step, attempt, epoch, at: entry.at, journaledAt, isRepeated };
    return entry.at > journaledAt ? [call] : [];
  });
}

/** Returns the attempts whose answers were journaled. */
const resultingAttempts = ({ trees }: History): Set<string> =>
  new Set(
    trees
      .flatMap((tree) => only(tree, "model.end"))
      .flatMap(({ attempt, error }) => (attempt === null || error ? [] : [attempt])),
  );

/** Whether it passed the gate in time, is the only call of its attempt, and another execution had begun meanwhile. */
function wasOvertaken(history: History, { run, attempt, epoch, journaledAt, isRepeated }: LateCall): boolean {
  const reserved = history.trees
    .flatMap((tree) => only(tree, "budget.reserved"))
    .find((event) => event.attempt === attempt);
  const executions = executionsOf(history, run);
  const own = executions.findIndex((execution) => execution.epoch === epoch);
  const isSuperseded = own !== -1 && executions.slice(own + 1).some(({ from }) => from <= journaledAt);
  return !isRepeated && reserved !== undefined && reserved.at <= journaledAt && isSuperseded;
}
