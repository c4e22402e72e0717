import type { CancelHistory, History, TreeHistory } from "../history.ts";
import { ungatedTools } from "../workload/tools.ts";
import { downMs, lostMs } from "./downtime.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { billOf, markOf, only, subtreeOf } from "./reading.ts";

/** Milliseconds for each descendant to end, while its processes are up and the machine has its processors. */
const waitMs = ({ isMachineBusy }: History): number => (isMachineBusy ? 300_000 : 5_000);

/**
 * I10: once a tree has accepted a cancel, it lets no run below begin anything; no call or effect that had not begun
 * arrives at a witness, and of what passes no gate none once its run has ended; and each run below has ended within 5
 * seconds in which the processes that it needed were up.
 */
export const nothingBeginsAfterACancel: Predicate = {
  id: "I10",
  claim: "after a cancel nothing begins below it, and all end within 5 s",
  check: (history) => {
    const cancelled = history.trees.flatMap((tree) => (tree.cancel ? [{ tree, cancel: tree.cancel }] : []));
    const ends = cancelled.flatMap(({ cancel }) => endsOf(history, cancel));
    const slowest = Math.max(0, ...ends.map(({ took }) => took));
    return {
      cases: cancelled.length,
      of: `cancels of ${ends.length} runs, the slowest ended after ${slowest} ms`,
      findings: cancelled.flatMap(({ tree, cancel }) => findings(history, tree, cancel)),
      excused: cancelled.flatMap(({ cancel }) => {
        const late = endsOf(history, cancel).find(
          ({ took, allowed }) => took > waitMs(history) && took <= allowed,
        );
        return late
          ? [{ where: late.run, what: `ended after ${late.took} ms; allowed ${late.allowed}` }]
          : [];
      }),
    };
  },
};

function findings(history: History, tree: TreeHistory, cancel: CancelHistory): readonly Finding[] {
  const below = subtreeOf(tree, cancel.run);
  const mark = only(tree, "run.cancelling").find(({ runId }) => runId === cancel.run)?.seq;
  if (mark === undefined) return [{ where: cancel.run, what: "accepted a cancel, and has no mark of it" }];
  return [
    ...findAtTheGate(tree, below, mark),
    ...findAtTheWitnesses(history, tree, cancel, below, mark),
    ...findLate(history, cancel),
  ];
}

/** Reads what the tree permitted, in the order of its events. Idempotent tools pass no gate: runs report them later. */
function findAtTheGate(tree: TreeHistory, below: ReadonlySet<string>, mark: number): readonly Finding[] {
  const begun = [
    ...only(tree, "budget.reserved"),
    ...only(tree, "spawn.admitted"),
    ...only(tree, "run.start"),
    ...only(tree, "tool.start").filter(({ tool, attempt }) => attempt !== null && !ungatedTools.has(tool)),
  ];
  return begun
    .filter(({ seq, runId }) => seq > mark && below.has(runId))
    .map(({ runId, type, attempt }) => ({ where: runId, what: `${type} after the cancel: ${attempt}` }));
}

function findAtTheWitnesses(
  history: History,
  tree: TreeHistory,
  { askedAt, acceptedAt, receipt }: CancelHistory,
  below: ReadonlySet<string>,
  mark: number,
): readonly Finding[] {
  const began = new Set(
    [...only(tree, "budget.reserved"), ...only(tree, "tool.start")]
      .filter(({ seq }) => seq < mark)
      .map(({ attempt }) => String(attempt)),
  );
  const calls = billOf(history, tree.plan.id)
    .filter(({ at, run }) => at > acceptedAt && below.has(String(run)))
    .filter((entry) => !began.has(markOf(entry).attempt))
    .map(({ run, at }) => ({ where: String(run), what: `a model call ${at - acceptedAt} ms after` }));
  const took = new Map(receipt?.runs.map(({ runId, tookMs }) => [String(runId), tookMs]));
  /** Operations without a gate may begin until the cancel has reached their run, which then ends. */
  const ungatedUntil = (run: string): number => askedAt + (took.get(run) ?? Infinity);
  const effects = history.effects
    .filter(({ run, startedAt }) => startedAt > acceptedAt && below.has(run))
    .filter(({ run, attempt, startedAt }) =>
      attempt === null ? startedAt > ungatedUntil(run) : !began.has(attempt),
    )
    .map(({ key, startedAt, tool }) => ({
      where: key,
      what: `an effect (${tool}) ${startedAt - acceptedAt} ms after`,
    }));
  return [...calls, ...effects];
}

function findLate(history: History, cancel: CancelHistory): readonly Finding[] {
  if (cancel.receipt === null) return [{ where: cancel.run, what: "cancelled, and never ended" }];
  return endsOf(history, cancel)
    .filter(({ took, allowed }) => took > allowed)
    .map(({ run, took, allowed }) => ({
      where: run,
      what: `ended ${took} ms after its cancel; allowed ${allowed}`,
    }));
}

/** The milliseconds that a run took to end after its cancel was accepted, and those that it might take. */
interface CancelledEnd {
  readonly run: string;
  readonly took: number;
  readonly allowed: number;
}

/** Returns the ends of all runs of a cancel. The receipt counts from the request. */
function endsOf(history: History, { askedAt, acceptedAt, receipt }: CancelHistory): readonly CancelledEnd[] {
  return (receipt?.runs ?? []).map(({ runId: run, tookMs }) => {
    const window = { from: acceptedAt, to: Math.max(acceptedAt, askedAt + tookMs) };
    const took = window.to - window.from;
    return { run, took, allowed: waitMs(history) + downMs(history, run, window) + lostMs(history, window) };
  });
}
