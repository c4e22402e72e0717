import { Ledger } from "#ledger";
import { performEffects } from "../run-lifecycle.ts";
import type { ArgumentOf } from "../protocol.ts";
import { agentField } from "../state/ended-runs.ts";
import { isFirst } from "../state/seen.ts";
import { disabledKey } from "./switches.ts";
import type { TreeWork } from "../state/tree-work.ts";

/** Holds a run and its descendants. */
export function pauseTreeRun(work: TreeWork, { run, operationId }: ArgumentOf<"pause">): null {
  work.live(run);
  if (!isFirst(work, ["pause", run, operationId])) return null;
  work.loadBelow([run]);
  work.object.clear(disabledKey(run));
  work.decide(run, (state) => Ledger.pause(state, { run, at: work.now }));
  performEffects(work);
  return null;
}

/** Lifts a hold. */
export function resumeTreeRun(work: TreeWork, { run, operationId }: ArgumentOf<"resume">): null {
  work.live(run);
  if (!isFirst(work, ["resume", run, operationId])) return null;
  work.loadBelow([run]);
  work.object.clear(disabledKey(run));
  work.decide(run, (state) => Ledger.resume(state, { run, at: work.now }));
  // Waiting calls of a paused run were skipped. There may be money for them now.
  work.isMoneyMoved = true;
  performEffects(work);
  return null;
}

/** Changes the priority of a run. Unknown runs are no error: they may have just ended. */
export function reprioritizeTreeRun(work: TreeWork, argument: ArgumentOf<"reprioritize">): null {
  const { run, priority, operationId } = argument;
  const known = work.run(run);
  const from = work.slot(run)?.priority;
  if (!known || from === undefined) return null;
  if (!isFirst(work, ["reprioritize", run, operationId]) || from === priority) return null;
  work.decide(run, (state) => Ledger.reprioritize(state, { run, priority, at: work.now }));
  work.put(run, { ...work.live(run), supervision: { ...known.supervision, priority } });
  work.emit(run, "run.reprioritized", { from, to: priority });
  performEffects(work);
  return null;
}

/** Raises limits. On the root: those of the root run and of the tree. */
export function topUpAccount(work: TreeWork, argument: ArgumentOf<"topUp">): null {
  const { run, tokens, costMicros, turns, operationId } = argument;
  work.live(run);
  if (!isFirst(work, ["topUp", run, operationId])) return null;
  work.decide(run, (state) => Ledger.topUp(state, { run, tokens, costMicros, turns }));
  if (run === work.root)
    work.decide(run, (state) => Ledger.topUp(state, { run: null, tokens, costMicros, turns: 0 }));
  work.isMoneyMoved = true;
  work.emit(run, "budget.topped-up", { tokens, costMicros, turns });
  return null;
}

/** Books the real cost of a lost attempt. */
export function reconcileDoubt(work: TreeWork, argument: ArgumentOf<"reconcile">): boolean {
  const { attempt, usage } = argument;
  const booked = work.decideDoubt(attempt, (state) => Ledger.reconcile(state, { attempt, usage }));
  if (!booked) return false;
  const { run, ...amounts } = booked;
  // Bills come late, so the run may have ended.
  const options = { place: `reconciled/${attempt}`, attempt, ...agentField(work, run) };
  work.emit(run, "budget.settled", { ...amounts, reconciled: true }, options);
  return true;
}
