import { AttemptId, type RunId } from "#kernel";
import { enterCallLine, leaveCallLine, mayBegin, mayWake } from "./call-line.ts";
import { loseAgain, openReserved } from "./begin.ts";
import type { DecisionResult, DecideWaiting, Expire, WokenCall } from "../command.ts";
import { Draft } from "../draft.ts";
import { path } from "../slots/ancestry.ts";
import { inOrder, type RankedCall } from "../slots/line.ts";
import { lose } from "./lose.ts";
import { metOf, reservation, type Reservation, type WaitingGate } from "./reserve.ts";
import type { LedgerState } from "../state.ts";

/** Number of waiting calls that are loaded together. */
const loadedTogether = 8;

/**
 * Decides the waiting calls again, best first. A call that fits is reserved, and its run is woken to begin it. A run
 * that needs a slot first, or whose call nothing in flight can free money for, is woken to ask again. A limit that
 * stops one call stops those behind it.
 */
export function decideWaiting(
  state: LedgerState,
  { takeBy, at }: DecideWaiting,
): DecisionResult<readonly WokenCall[]> {
  const draft = new Draft(state, at);
  const woken: WokenCall[] = [];
  const met = new Set<RunId | null>();
  for (const { run, call } of callsInOrder(draft, at)) {
    // The tree's limit stops every call.
    if (met.has(null)) break;
    const slot = draft.slots.get(run);
    const isReady = mayBegin(slot, at);
    if (!call || !(isReady || mayWake(slot, at))) continue;
    if (path(draft.slots, run).some((owner) => met.has(owner))) continue;
    const decision = decideOne(draft, { run, step: call.step, at });
    if (decision?.kind === "waits") {
      if (decision.needsTopUp) noteNeed(draft, { run, step: call.step }, decision);
      else if (isReady) met.add(decision.owner);
      continue;
    }
    const left = leaveCallLine(draft, run, call.step);
    if (left && isReady && decision?.kind === "fits") {
      const attempt = AttemptId.of(`unused/${at}/${woken.length}`);
      openReserved(
        draft,
        { run, step: left.step, attempt, at, dueAt: takeBy, isUnused: true },
        { ask: left.ask, fit: decision },
      );
    }
    woken.push({ run, step: call.step });
  }
  return draft.toResult(woken);
}

/** Notes that a call waits for a top-up from now on, because nothing in flight can free enough for it. */
function noteNeed(draft: Draft, { run, step }: WokenCall, decision: WaitingGate): void {
  const waiting = draft.accounts.need(run).waiting.find((call) => call.step === step);
  if (!waiting || waiting.needsTopUp) return;
  const met = metOf(decision);
  enterCallLine(draft, run, { ...waiting, met, needsTopUp: true });
  draft.effects.push({ kind: "needsTopUp", run, step, ...met });
}

/** Yields the waiting calls, best first. Loads their runs in groups. */
function* callsInOrder(draft: Draft, at: number): Generator<RankedCall, undefined> {
  const line = inOrder(draft, "calls", at);
  for (;;) {
    const calls: RankedCall[] = [];
    for (let next = line.next(); next.value; next = line.next())
      if (calls.push(next.value) === loadedTogether) break;
    if (calls.length === 0) return;
    const runs = [...new Set(calls.map(({ run }) => run))];
    draft.prefetch({ slots: runs, accounts: runs });
    yield* calls;
  }
}

function decideOne(draft: Draft, { run, step, at }: WokenCall & { readonly at: number }): Reservation | null {
  const waiting = draft.accounts.need(run).waiting.find((call) => call.step === step);
  if (!waiting) return null;
  const command = { run, step, leaseIsFinal: false, waitsSince: waiting.since, isNext: true, at };
  const decision = reservation(draft, command, waiting.ask);
  const { lease } = draft.tree;
  // The run requests another lease.
  const isLeaseOver = lease !== null && at >= lease.until;
  if (decision.kind !== "needs-lease" || isLeaseOver) return decision;
  // Calls in flight may cost less than reserved. Then no loan is needed.
  const final = reservation(draft, { ...command, leaseIsFinal: true }, waiting.ask);
  return final.kind === "waits" ? final : decision;
}

/**
 * Releases every reservation that is due. A call that its worker has not settled by then is in doubt. Reads every live
 * run.
 */
export function expire(state: LedgerState, { at }: Expire): DecisionResult<null> {
  const draft = new Draft(state, at);
  let due = Infinity;
  for (const [run] of draft.allSlots()) {
    for (const open of draft.accounts.need(run).attempts) {
      if (open.kind === "tool") continue;
      if (open.dueAt > at) due = Math.min(due, open.dueAt);
      else if (open.isUnused) lose(draft, run, open.id);
      else loseAgain(draft, { run, step: open.step }, open.id);
    }
  }
  draft.tree = { ...draft.tree, calls: { ...draft.tree.calls, due: due === Infinity ? null : due } };
  return draft.toResult(null);
}
