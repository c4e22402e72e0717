import type { Price } from "#kernel";
import { Ledger, type ReservationRequest, type Gate } from "#ledger";
import { book, bookSettlement } from "../reports.ts";
import { requestLease } from "../tenant/lease.ts";
import { performEffects } from "../run-lifecycle.ts";
import type { BeginArgument, ReplyOf, CallRequest } from "../protocol.ts";
import { pinPrice } from "../pin-price.ts";
import type { TreeWork } from "../state/tree-work.ts";
import { decideWaiting } from "../waiting-calls.ts";

/** Handles the gate of every call that costs money or has side effects. */
export function beginCall(work: TreeWork, argument: BeginArgument): ReplyOf<"begin"> {
  const { run } = argument;
  book(work, argument);
  for (const made of argument.previous) bookSettlement(work, run, made);
  // Calls that wait for money that was just settled go before this one.
  decideWaiting(work);
  // A call whose reply was lost is repeated. Its grant was recorded already.
  const isTold = work.run(run)?.account.attempts.some(({ id }) => id === argument.attempt) ?? false;
  const gate = askTenant(work, argument);
  if (!isTold) announce(work, argument, gate);
  if (gate.kind === "refused" && gate.why === "paused" && gate.reason !== null)
    work.put(run, { ...work.live(run), pausedFor: gate.reason });
  performEffects(work);
  return { gate, reported: work.run(run)?.reported ?? 0 };
}

/** Asks the ledger, and borrows from the tenant's budgets if the call needs it. */
function askTenant(work: TreeWork, argument: BeginArgument): Gate {
  const { run, mayWait = false } = argument;
  let gate = askLedger(work, argument, false);
  // A fresh lease may be smaller than the call needs. Then one addition is requested, and its result is final.
  for (let draws = 1; gate.kind === "needs-lease"; draws++) {
    const lease = requestLease(work, gate, { mayWait });
    if (lease === "short") return gate;
    work.decide(run, (state) => Ledger.grantQuota(state, lease));
    gate = askLedger(work, argument, draws > 1 || lease.adds);
  }
  return gate;
}

/** Time for the settlement of an ended call, if another call waits for its money. */
const settleGraceMs = 5_000;

function askLedger(work: TreeWork, argument: BeginArgument, leaseIsFinal: boolean): Gate {
  const { run, step, attempt, epoch, rerun, ask: reservation, waitsSince } = argument;
  const known = work.run(run);
  // An execution that has continued in a fresh one is superseded, whichever asks first.
  if (known && argument.continuation !== known.continuation)
    return { kind: "refused", why: "superseded", reason: null };
  const asked = reservation && toAsk(reservation, pinPrice(work, reservation));
  const timeoutMs = (argument.timeoutMs ?? 0) + settleGraceMs;
  const command = { run, step, attempt, epoch, ask: asked, rerun, leaseIsFinal, timeoutMs, waitsSince };
  return work.decide(run, (state) => Ledger.begin(state, { ...command, at: work.now }));
}

function toAsk({ inputTokens, ...reservation }: CallRequest, price: Price | null): ReservationRequest {
  return {
    ...reservation,
    price,
    inputTokens: inputTokens ?? 0,
    ...(inputTokens === null && { unbounded: true }),
  };
}

/** Maximum number of denied attempts to remember: as many as a run may have in flight. */
const maxDenied = 64;

function announce(work: TreeWork, argument: BeginArgument, gate: Gate): void {
  const { run, step, attempt, ask: reservation, subject, callId = attempt } = argument;
  if (gate.kind === "denied") {
    const { kind: _kind, ...denied } = gate;
    const record = work.live(run);
    if (record.denied.includes(attempt)) return;
    work.emit(run, "budget.denied", denied, { place: `denied/${attempt}`, attempt });
    work.put(run, { ...record, denied: [...record.denied, attempt].slice(-maxDenied) });
  }
  if (gate.kind === "waits" && !gate.again) {
    const { kind: _kind, since: _since, needsTopUp: _needsTopUp, again: _again, ...met } = gate;
    work.emit(run, "budget.waiting", { ...met, step }, { place: `waiting/${attempt}`, attempt });
  }
  if (gate.kind !== "granted") return;
  if (reservation) {
    work.emit(run, "budget.reserved", gate.ceiling, { place: `reserved/${attempt}`, attempt });
    work.emit(run, "model.start", { model: subject, step }, { place: `model.start/${attempt}`, attempt });
  } else {
    work.emit(
      run,
      "tool.start",
      { tool: subject, callId, step },
      { place: `tool.start/${attempt}`, attempt },
    );
  }
}
