// The gate: the decision whether a call may begin.
//
// Job: check run and execution, reserve the worst case of a model call, and record open attempts. Neighbours: the
// tree's `begin` method calls it; reserve.ts finds the largest output that fits; call-line.ts queues calls that wait
// for money; settle.ts closes attempts.
//
// Invariants:
// 1. A call begins only with a grant. The grant of a model call books its ceiling on the whole account path in one
//    decision.
// 2. A repeated request for an open attempt gets the same grant.
// 3. Nothing begins for a run that has ended, is cancelled, late, held or without a slot, nor for a superseded
//    execution.
// 4. If a step begins again, its open attempt is lost. A tool call is repeated only with `rerun`. After the third lost
//    attempt of a step the run is held.
// 5. A call in the queue for money holds no reservation.

import { type AttemptId, type RunId, StepId } from "#kernel";
import { Account, type Attempt, type OpenStep } from "./account.ts";
import { Amounts } from "./amounts.ts";
import { book } from "./book.ts";
import type { ReservationRequest } from "./reservation-request.ts";
import { enterCallLine, leaveCallLine } from "./call-line.ts";
import type { Begin, DecisionResult, Gate } from "../command.ts";
import { Draft } from "../draft.ts";
import { passFence } from "../slots/fence.ts";
import { ceilingOf, type Grant } from "./fit.ts";
import { hiddenFields, withHidden } from "./hidden-tokens.ts";
import { atWork } from "../slots/headcount.ts";
import { holdSubtree } from "../slots/hold.ts";
import { chargeLease, currentLease } from "./lease.ts";
import { path } from "../slots/ancestry.ts";
import { lose } from "./lose.ts";
import { exceededLimit, metOf, reservation } from "./reserve.ts";
import type { LedgerState } from "../state.ts";

const mostLost = 3;

/** Decides at the gate: nothing begins without a grant. A repeated request for an open attempt gets the same grant. */
export function begin(state: LedgerState, command: Begin): DecisionResult<Gate> {
  const draft = new Draft(state, command.at);
  const gate = refuseBegin(draft, command) ?? enter(draft, command);
  if (gate.kind !== "needs-lease") return draft.toResult(gate);
  // The tree asks again once the tenant has lent. Until then, only the fence of the execution is kept.
  const fenced = new Draft(state, command.at);
  refuseBegin(fenced, command);
  return fenced.toResult(gate);
}

/** Returns the refusal of an execution that may begin nothing, independent of the budget. Null: it may. */
function refuseBegin(draft: Draft, { run, epoch, at }: Begin): Gate | null {
  const slot = draft.slots.get(run);
  if (!slot) return createRefusal("ended");
  if (slot.cancelled !== null) return createRefusal("cancelled", slot.cancelled);
  if (slot.deadline !== null && at > slot.deadline) return createRefusal("deadline");
  const fence = passFence(slot.fence, epoch);
  if (!fence) return createRefusal("superseded");
  if (fence !== slot.fence) draft.slots.patch(run, { fence });
  const isAtWork = slot.phase === "running" || slot.phase === "waiting";
  return isAtWork && !slot.held ? null : createRefusal("paused");
}

function enter(draft: Draft, command: Begin): Gate {
  const { run, step, attempt, ask, at } = command;
  draft.slots.patch(run, atWork);
  const { attempts } = draft.accounts.need(run);
  const same = attempts.find(({ id }) => id === attempt);
  if (same) return createGrant(draft, command, same);
  const unused = attempts.find((other) => other.step === step && other.isUnused);
  if (unused && covers(unused, ask && withHidden(draft, ask))) return takeUnused(draft, command, unused);
  if (unused) lose(draft, run, unused.id);
  const earlier = attempts.find((other) => other.step === step && other !== unused);
  if (earlier) {
    const { id, kind } = earlier;
    const mayFollow = command.rerun === true || command.rerun === id;
    if (kind === "tool" && !mayFollow) return { kind: "earlier-attempt-open", attempt: id };
    if (loseAgain(draft, command, id) >= mostLost) {
      forgive(draft, command);
      holdSubtree(draft, run, at);
      return createRefusal("paused", `${mostLost} attempts of ${step} were lost`);
    }
  }
  if (ask !== null) return openModel(draft, command, ask);
  const exceeded = exceededLimit(draft, run);
  if (exceeded) return { kind: "denied", reason: "exceeded", ...exceeded };
  const opened = tool(command);
  openAttempt(draft, run, opened);
  return createGrant(draft, command, opened);
}

function openModel(draft: Draft, command: Begin, ask: ReservationRequest): Gate {
  const { run, step, at, timeoutMs = 0 } = command;
  const fit = reservation(draft, command, ask);
  if (fit.kind === "needs-lease") return fit;
  if (fit.kind === "waits") {
    const again = draft.accounts.need(run).waiting.some((call) => call.step === step);
    // A waiting call holds no reservation. Otherwise two steps could wait for each other.
    dropUnused(draft, command);
    const { since, needsTopUp } = fit;
    enterCallLine(draft, run, { step, ask, since, met: metOf(fit), needsTopUp });
    return { ...fit, again };
  }
  leaveCallLine(draft, run, step);
  if (fit.kind === "denied") return fit;
  return createGrant(
    draft,
    command,
    openReserved(draft, { ...command, dueAt: at + timeoutMs }, { ask, fit }),
  );
}

/** Books a call that fits. */
export function openReserved(
  draft: Draft,
  command: Pick<Begin, "run" | "step" | "attempt" | "at"> & Pick<Attempt, "dueAt" | "isUnused">,
  { ask, fit }: { readonly ask: ReservationRequest; readonly fit: Grant },
): Attempt {
  const { ceiling, outputTokens, shrunk } = fit;
  const { run, step, at, dueAt, isUnused } = command;
  const { turns, steps } = draft.accounts.need(run);
  // A retry of a lost call is the same call.
  const isTurn = !ask.uncounted && !steps.some((open) => open.step === step);
  if (isTurn) draft.accounts.patch(run, { turns: turns + 1 });
  noteDue(draft, dueAt);
  book(draft, path(draft.slots, run), Account.reserve(ceiling));
  const leasedAt = currentLease(draft);
  chargeLease(draft, leasedAt, ceiling);
  const opened = {
    id: command.attempt,
    step,
    kind: "model",
    ceiling,
    price: ask.price,
    outputTokens,
  } as const;
  const lease = leasedAt === undefined ? {} : { leasedAt };
  const hidden = hiddenFields(draft, ask);
  const attempt: Attempt = {
    ...opened,
    ...hidden,
    ...lease,
    shrunk,
    openedAt: at,
    dueAt,
    ...(isUnused && { isUnused }),
  };
  openAttempt(draft, run, attempt);
  return attempt;
}

/** Updates the time at which the first open reservation is due. */
function noteDue(draft: Draft, dueAt: number): void {
  const { tree } = draft;
  const due = tree.account.inFlight === 0 ? null : tree.calls.due;
  if (due !== null && due <= dueAt) return;
  draft.tree = { ...tree, calls: { ...tree.calls, due: dueAt } };
}

/** Whether a reservation covers a call. A repeated call may have another prompt. */
function covers({ outputTokens, ceiling, price }: Attempt, ask: ReservationRequest | null): boolean {
  if (!ask || outputTokens > ask.outputTokens) return false;
  const needed = ceilingOf({ ...ask, price }, outputTokens);
  const isSamePrice = JSON.stringify(ask.price) === JSON.stringify(price);
  return isSamePrice && needed.tokens <= ceiling.tokens && needed.costMicros <= ceiling.costMicros;
}

/** Begins a call that waited, with the money reserved for it. */
function takeUnused(draft: Draft, command: Begin, unused: Attempt): Gate {
  const { run, attempt: id, at, timeoutMs = 0 } = command;
  const { isUnused: _isUnused, ...reserved } = unused;
  const taken: Attempt = { ...reserved, id, openedAt: at, dueAt: at + timeoutMs };
  const { attempts } = draft.accounts.need(run);
  draft.accounts.patch(run, { attempts: attempts.map((other) => (other === unused ? taken : other)) });
  return createGrant(draft, command, taken);
}

/** Releases reservations for other calls of the same step that have not begun. */
function dropUnused(draft: Draft, { run, step }: Begin): void {
  const outer = StepId.outer(step);
  for (const open of draft.accounts.need(run).attempts)
    if (open.isUnused && StepId.outer(open.step) === outer) lose(draft, run, open.id);
}

function tool({ step, attempt: id, at }: Begin): Attempt {
  const nothing = { ceiling: Amounts.none, price: null, outputTokens: 0, shrunk: null };
  return { id, step, kind: "tool", ...nothing, openedAt: at, dueAt: at };
}

function openAttempt(draft: Draft, run: RunId, opened: Attempt): void {
  const { attempts, steps } = draft.accounts.need(run);
  const counted = countStep(steps, opened.step, ({ begun }) => ({ begun: begun + 1 }));
  draft.accounts.patch(run, { attempts: [...attempts, opened], steps: counted });
}

/** Closes a lost attempt. Returns the number of lost attempts of its step. */
export function loseAgain(
  draft: Draft,
  { run, step }: Pick<Begin, "run" | "step">,
  attempt: AttemptId,
): number {
  lose(draft, run, attempt);
  const steps = countStep(draft.accounts.need(run).steps, step, ({ lost }) => ({ lost: lost + 1 }));
  draft.accounts.patch(run, { steps });
  return steps.find((open) => open.step === step)?.lost ?? 0;
}

/** Resets the lost attempts of a step, because resuming the run means to retry it. */
function forgive(draft: Draft, { run, step }: Begin): void {
  const steps = countStep(draft.accounts.need(run).steps, step, () => ({ lost: 0 }));
  draft.accounts.patch(run, { steps });
}

/** Changes the figures of one step, which is open from now on. */
function countStep(
  steps: readonly OpenStep[],
  step: StepId,
  change: (open: OpenStep) => Partial<OpenStep>,
): readonly OpenStep[] {
  const index = steps.findIndex((open) => open.step === step);
  const open = steps[index] ?? { step, begun: 0, lost: 0 };
  const changed = { ...open, ...change(open) };
  return index === -1 ? [...steps, changed] : steps.with(index, changed);
}

function createGrant(draft: Draft, { run }: Begin, { step, ceiling, outputTokens, shrunk }: Attempt): Gate {
  const attempts = draft.accounts.need(run).steps.find((open) => open.step === step)?.begun ?? 1;
  return { kind: "granted", outputTokens, ceiling, shrunk, attempts };
}

function createRefusal(
  why: Extract<Gate, { readonly kind: "refused" }>["why"],
  reason: string | null = null,
): Gate {
  return { kind: "refused", why, reason };
}
