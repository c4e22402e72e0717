import { type LimitMet, type RunId, StepId } from "#kernel";
import { Amounts } from "./amounts.ts";
import type { Ask } from "./ask.ts";
import { findAhead } from "./call-line.ts";
import type { Begin, Gate } from "../command.ts";
import { leaseLimit } from "./lease.ts";
import type { Block } from "../state.ts";
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
  type Fit,
} from "./fit.ts";
import { path } from "../slots/lineage.ts";

/** The limit that a call waits at. */
type Waiting = Extract<Gate, { readonly kind: "waits" }>;

/** The amounts that a call may use, or the reason why it may not begin. */
export type Reservation = Fit | Waiting | Extract<Gate, { readonly kind: "denied" | "needs-block" }>;

/** The part of a command that a reservation depends on. */
export interface Reserving extends Pick<Begin, "run" | "step" | "blockIsFinal" | "waitsSince" | "at"> {
  /** Whether it is its turn: no waiting call goes before it. Default false. */
  readonly isNext?: boolean;
}

/**
 * Finds the largest output that fits every limit on the path. Changes nothing. A call that may wait does so while a call
 * in flight could make room for more output, and behind the calls that wait already.
 * @throws RangeError on an ask that could not be booked.
 */
export function reservation(draft: Draft, command: Reserving, ask: Ask): Reservation {
  const accounts = accountCaps(draft, command, ask);
  const isLeaseOver = needsLease(draft, command);
  const block = isLeaseOver ? none : blockCaps(draft, command);
  const caps = command.blockIsFinal ? [...accounts, ...block] : accounts;
  const fitting = fit(ask, caps, refusing(ask, block));
  const obstacle =
    command.waitsSince === undefined ? null : findObstacle(draft, command, { ask, caps, fitting });
  if (obstacle) return obstacle;
  if (fitting.kind === "denied" || command.blockIsFinal) return fitting;
  if (isLeaseOver) return { kind: "needs-block", ...fitting.ceiling };
  const tokens = Math.max(0, fitting.ceiling.tokens - room(block, "tokens"));
  const cost = Math.max(0, fitting.ceiling.costMicros - room(block, "cost"));
  return tokens > 0 || cost > 0 ? { kind: "needs-block", tokens, costMicros: cost } : fitting;
}

/** The limits of a lease that refuse a call whatever more is lent: one without a bound, or without a price. */
function refusing({ price, unpriced, unbounded }: Ask, block: readonly Cap[]): readonly Cap[] {
  if (unbounded) return block;
  const isUnpriced = price === null && unpriced === "refuse";
  return isUnpriced ? block.filter(({ dimension }) => dimension === "cost") : none;
}

/** The limit that a call has to wait at; null if it need not wait. */
function findObstacle(
  draft: Draft,
  command: Reserving,
  {
    ask,
    caps,
    fitting,
  }: { readonly ask: Ask; readonly caps: readonly Cap[]; readonly fitting: Fit | Denial },
): Waiting | null {
  const since = command.waitsSince ?? command.at;
  const waits = (cap: Cap | undefined, needsTopUp: boolean): Waiting | null =>
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

/** The limit on the path of a run that a reported usage has exceeded; null if there is none. */
export function exceededLimit(draft: Draft, run: RunId): LimitMet | null {
  const caps = pathCaps(draft, run, { fixed: Amounts.none, landing: false });
  return caps.find(({ exceeded }) => exceeded)?.met ?? null;
}

/** The limits of the run, of those above it and of the tree. A landing call may use the slices its run owns. */
function accountCaps(draft: Draft, command: Reserving, { landing, uncounted }: Ask): readonly Cap[] {
  const { run, step } = command;
  const own = draft.accounts.need(run);
  const caps = pathCaps(draft, run, { fixed: reservedInStep(draft, command), landing });
  const isFirstAttempt = !own.steps.some((open) => open.step === step);
  // The last turn is for landing, unless it is the only one.
  if (isFirstAttempt && !uncounted) addTurnCap(caps, run, own, landing || own.maxTurns === 1 ? 0 : 1);
  return caps;
}

/** The limits of tokens and cost: the run's first, the tree's last. */
function pathCaps(
  { slots, accounts, tree }: Draft,
  run: RunId,
  { fixed, landing }: Pick<CapOwner, "fixed"> & Pick<Ask, "landing">,
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

/** The amounts that calls of the same step hold: they are not settled before this one. */
function reservedInStep(draft: Draft, { run, step }: Reserving): Amounts {
  const outer = StepId.outer(step);
  const own = draft.accounts.need(run).attempts.filter((open) => StepId.outer(open.step) === outer);
  return own.reduce<Amounts>((sum, { ceiling }) => Amounts.add(sum, ceiling), Amounts.none);
}

/** Whether the tree's lease is over: the tenant says what limits the tree now. */
const needsLease = ({ tree: { block } }: Draft, { blockIsFinal, at }: Reserving): boolean =>
  block !== null && !blockIsFinal && at >= block.until;

/** The part of the budgets of tenant and user that the tree may use. Nothing of it is kept for landing. */
function blockCaps(draft: Draft, command: Reserving): readonly Cap[] {
  const { account, block } = draft.tree;
  if (block === null) return none;
  const { used } = block;
  // Calls that were reserved under another lease hold nothing of this one.
  const reserved = Amounts.least(account.reserved, used);
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
  const limits = { maxTokens: block.tokens, maxCostMicros: block.costMicros };
  const fixed = Amounts.least(reservedInStep(draft, command), reserved);
  addCaps(caps, { name: "tenant", owner: null, account: lent, fixed }, limits, () => 0);
  return caps.map((cap) => lentCap(cap, block));
}

/** The cap of a lease, which names the budget that it is a part of. */
function lentCap(cap: Cap, block: Block): Cap {
  const budget = leaseLimit(block, cap.dimension === "tokens" ? "tokens" : "cost");
  if (!budget) return cap;
  // The call has waited for what other trees hold before it is refused.
  return { ...cap, met: budget, refusedFor: budget.reserved > 0 ? "wait-timed-out" : "exhausted" };
}

/** The slice of a limit that is kept for landing. */
const slice = (isWhole: boolean) => (limit: number) => (isWhole ? 0 : Math.ceil(limit / 10));

const none: readonly Cap[] = [];
