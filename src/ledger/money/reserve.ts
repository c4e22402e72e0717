import { type LimitMet, type RunId, StepId } from "#kernel";
import { Amounts } from "./amounts.ts";
import type { ReservationRequest } from "./reservation-request.ts";
import { findAhead } from "./call-line.ts";
import type { Begin, Gate } from "../command.ts";
import { withHidden } from "./hidden-tokens.ts";
import { leaseLimit } from "./lease.ts";
import type { TreeLease } from "../state.ts";
import type { Draft } from "../draft.ts";
import {
  addCaps,
  addTurnCap,
  ceilingOf,
  fit,
  lacksRoom,
  room,
  type Cap,
  type CapOwner,
  type Denial,
  type Grant,
} from "./fit.ts";
import { path } from "../slots/ancestry.ts";

/** The decision that a call waits at a limit. */
export type WaitingGate = Extract<Gate, { readonly kind: "waits" }>;

/** Returns the limit that a waiting call meets. */
export function metOf({
  kind: _kind,
  again: _again,
  since: _since,
  needsTopUp: _needsTopUp,
  inFlight: _inFlight,
  ...met
}: WaitingGate): LimitMet {
  return met;
}

/** A grant, or the reason why a call may not begin. */
export type Reservation = Grant | WaitingGate | Extract<Gate, { readonly kind: "denied" | "needs-lease" }>;

/** The fields of a command that a reservation depends on. */
export interface ReserveCommand extends Pick<Begin, "run" | "step" | "leaseIsFinal" | "waitsSince" | "at"> {
  /** Whether no waiting call has precedence. Default: false. */
  readonly isNext?: boolean;
}

/**
 * Finds the largest output that fits every limit on the path. Changes nothing. A call that may wait does so while a
 * call in flight could free more output, and behind calls that wait already. @throws RangeError for an invalid request.
 */
export function reservation(draft: Draft, command: ReserveCommand, request: ReservationRequest): Reservation {
  const ask = withHidden(draft, request);
  const accounts = accountCaps(draft, command, ask);
  const isLeaseOver = needsLease(draft, command);
  const lease = isLeaseOver ? none : leaseCaps(draft, command);
  const caps = command.leaseIsFinal ? [...accounts, ...lease] : accounts;
  const fitting = fit(ask, caps, findRefusingCaps(ask, lease));
  const blocker =
    command.waitsSince === undefined ? null : findObstacle(draft, command, { ask, caps, fitting });
  if (blocker) return blocker;
  if (fitting.kind === "denied" || command.leaseIsFinal) return fitting;
  if (isLeaseOver) return { kind: "needs-lease", ...fitting.ceiling };
  const tokens = Math.max(0, fitting.ceiling.tokens - room(lease, "tokens"));
  const cost = Math.max(0, fitting.ceiling.costMicros - room(lease, "cost"));
  return tokens > 0 || cost > 0 ? { kind: "needs-lease", tokens, costMicros: cost } : fitting;
}

/** Returns the lease limits that refuse a call regardless of further loans: one without a bound, or without a price. */
function findRefusingCaps(
  { price, unpriced, unbounded }: ReservationRequest,
  lease: readonly Cap[],
): readonly Cap[] {
  if (unbounded) return lease;
  const isUnpriced = price === null && unpriced === "refuse";
  return isUnpriced ? lease.filter(({ dimension }) => dimension === "cost") : none;
}

/** Returns the limit that a call has to wait at. Null if it need not wait. */
function findObstacle(
  draft: Draft,
  command: ReserveCommand,
  {
    ask,
    caps,
    fitting,
  }: { readonly ask: ReservationRequest; readonly caps: readonly Cap[]; readonly fitting: Grant | Denial },
): WaitingGate | null {
  const since = command.waitsSince ?? command.at;
  const waits = (cap: Cap | undefined, needsTopUp: boolean): WaitingGate | null =>
    cap ? { kind: "waits", since, needsTopUp, again: false, inFlight: cap.inFlight, ...cap.met } : null;
  if (fitting.kind === "denied" && !isShort(fitting)) return null;
  if (fitting.kind === "fits" && fitting.shrunk === null) {
    const ahead = command.isNext ? null : findAhead(draft, command);
    return (
      ahead &&
      waits(
        caps.find(({ met, freeable }) => met.owner === ahead.owner && freeable > 0),
        false,
      )
    );
  }
  const full = { ...ceilingOf(ask, ask.outputTokens), turns: 1 };
  const met = caps.filter((each) => lacksRoom(each, full));
  const best = fit(
    ask,
    caps.map((each) => ({ ...each, used: each.used - each.freeable })),
  );
  const output = fitting.kind === "fits" ? fitting.outputTokens : -1;
  if (best.kind === "fits" && best.outputTokens > output)
    return waits(
      met.find(({ freeable }) => freeable > 0),
      false,
    );
  return waits(
    met.find(({ waitsForTopUp }) => waitsForTopUp),
    true,
  );
}

/** Whether a higher limit, or more room below it, would let the call begin. */
const isShort = ({ reason }: Denial): boolean =>
  reason === "exhausted" || reason === "exceeded" || reason === "wait-timed-out";

/** Returns the limit on the path of a run that a reported usage has exceeded. Null if there is none. */
export function exceededLimit(draft: Draft, run: RunId): LimitMet | null {
  const caps = pathCaps(draft, run, { fixed: Amounts.none, landing: false });
  return caps.find(({ exceeded }) => exceeded)?.met ?? null;
}

/** Returns the limits of the run, its ancestors and the tree. A landing call may use the landing slices of its run. */
function accountCaps(
  draft: Draft,
  command: ReserveCommand,
  { landing, uncounted }: ReservationRequest,
): readonly Cap[] {
  const { run, step } = command;
  const own = draft.accounts.need(run);
  const caps = pathCaps(draft, run, { fixed: reservedInStep(draft, command), landing });
  const isFirstAttempt = !own.steps.some((open) => open.step === step);
  // The last turn is reserved for landing, unless it is the only one.
  if (isFirstAttempt && !uncounted) addTurnCap(caps, run, own, landing || own.maxTurns === 1 ? 0 : 1);
  return caps;
}

/** Returns the limits of tokens and cost: the run's first, the tree's last. */
function pathCaps(
  { slots, accounts, tree }: Draft,
  run: RunId,
  { fixed, landing }: Pick<CapOwner, "fixed"> & Pick<ReservationRequest, "landing">,
): Cap[] {
  const caps: Cap[] = [];
  for (const owner of path(slots, run).toReversed()) {
    const account = accounts.need(owner);
    const name = owner === run ? "run" : "subtree";
    addCaps(caps, { name, owner, account, fixed }, account, slice(landing && owner === run));
  }
  const { account } = tree;
  const isRoot = run === tree.root;
  addCaps(caps, { name: "tree", owner: null, account, fixed }, account, slice(landing && isRoot));
  return caps;
}

/** Returns the reservations of calls of the same step. They are not settled before this call. */
function reservedInStep(draft: Draft, { run, step }: ReserveCommand): Amounts {
  const outer = StepId.outer(step);
  const own = draft.accounts.need(run).attempts.filter((open) => StepId.outer(open.step) === outer);
  return own.reduce<Amounts>((sum, { ceiling }) => Amounts.add(sum, ceiling), Amounts.none);
}

/** Whether the tree's lease has ended. The tenant then decides what limits the tree. */
const needsLease = ({ tree: { lease } }: Draft, { leaseIsFinal, at }: ReserveCommand): boolean =>
  lease !== null && !leaseIsFinal && at >= lease.until;

/** Returns the limits of the tree's lease. No landing slice is reserved in it. */
function leaseCaps(draft: Draft, command: ReserveCommand): readonly Cap[] {
  const { account, lease } = draft.tree;
  if (lease === null) return none;
  const { used } = lease;
  // Calls that were reserved under another lease hold nothing of this one.
  const reserved = Amounts.min(account.reserved, used);
  const settled = Amounts.subtract(used, reserved);
  const lent = {
    ...account,
    settled,
    reserved,
    inDoubt: Amounts.none,
    waitsForTopUp: false,
    exceeded: [],
  };
  const caps: Cap[] = [];
  const limits = { maxTokens: lease.tokens, maxCostMicros: lease.costMicros };
  const fixed = Amounts.min(reservedInStep(draft, command), reserved);
  addCaps(caps, { name: "tenant", owner: null, account: lent, fixed }, limits, () => 0);
  return caps.map((cap) => lentCap(cap, lease));
}

/** Returns the cap of a lease, naming the budget that it is a part of. */
function lentCap(cap: Cap, lease: TreeLease): Cap {
  const budget = leaseLimit(lease, cap.dimension === "tokens" ? "tokens" : "cost");
  if (!budget) return cap;
  // The call has waited for money that other trees hold before it is refused.
  return { ...cap, met: budget, refusedFor: budget.reserved > 0 ? "wait-timed-out" : "exhausted" };
}

/** Returns the slice of a limit that is reserved for landing. */
const slice = (isWhole: boolean) => (limit: number) => (isWhole ? 0 : Math.ceil(limit / 10));

const none: readonly Cap[] = [];
