import type { CancelHistory, History, TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { disturbedMs, lostMs } from "./disturbed.ts";
import { billOf, markOf, only, subtreeOf } from "./reading.ts";

/** Milliseconds for all descendants to end, while nothing is down or frozen and the machine has its processors. */
const waitMs = 5_000;
/**
 * I10: once a tree has accepted a cancel, its gate lets no run below begin anything; no call or effect that had not
 * begun arrives at a witness, and of what passes no gate none once its run has ended; and all below have ended within
 * 5 seconds in which servers were up and workers awake.
 */
export const nothingBeginsAfterACancel: Predicate = {
  id: "I10",
  claim: "after a cancel nothing begins below it, and all end within 5 s",
  describeChecked: (history) => {
    const cancels = history.trees.flatMap(({ cancel }) => cancel ?? []);
    const shares = cancels.map((cancel) => endOf(history, cancel)).map(({ took, allowed }) => took / allowed);
    const most = Math.round(100 * Math.max(0, ...shares));
    return `${cancels.length} cancels, the slowest used ${most} % of its time`;
  },
  findFaults: (history) =>
    history.trees.flatMap((tree) => (tree.cancel ? findings(history, tree, tree.cancel) : [])),
};

function findings(history: History, tree: TreeHistory, cancel: CancelHistory): readonly Finding[] {
  const below = subtreeOf(tree, cancel.run);
  const mark = only(tree, "run.cancelling").find(({ runId }) => runId === cancel.run)?.seq ?? Infinity;
  return [
    ...findAtTheGate(tree, below, mark),
    ...findAtTheWitnesses(history, tree, cancel, below, mark),
    ...tooLate(history, cancel),
  ];
}

function findAtTheGate(tree: TreeHistory, below: ReadonlySet<string>, mark: number): readonly Finding[] {
  return only(tree, "budget.reserved")
    .filter(({ seq, runId }) => seq > mark && below.has(runId))
    .map(({ runId, attempt }) => ({ where: runId, what: `passed the gate after the cancel: ${attempt}` }));
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

function tooLate(history: History, cancel: CancelHistory): readonly Finding[] {
  const { run, receipt } = cancel;
  if (receipt === null) return [{ where: run, what: "cancelled, and never ended" }];
  const { took, allowed } = endOf(history, cancel);
  return took > allowed
    ? [{ where: run, what: `ended ${took} ms after its cancel; allowed ${allowed}` }]
    : [];
}

/** Returns the duration of a cancel in milliseconds, from its acceptance; the receipt counts from the request. */
function endOf(
  history: History,
  { askedAt, acceptedAt, receipt }: CancelHistory,
): Readonly<Record<"took" | "allowed", number>> {
  const ended = askedAt + Math.max(0, ...(receipt?.runs ?? []).map(({ tookMs }) => tookMs));
  const kept = disturbedMs(history, acceptedAt, ended) + lostMs(history, acceptedAt, ended);
  return { took: ended - acceptedAt, allowed: waitMs + kept };
}
