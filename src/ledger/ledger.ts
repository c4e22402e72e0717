// The ledger: decides about the money and the headcount of one tree.
//
// Job: turn a state and a command into a new state, a decision, and effects that the tree must carry out. Neighbours:
// the tree object stores the state, passes commands and executes effects; `money/` and `slots/` hold the rules, one
// file per command or idea; `Draft` holds the changes of one decision.
//
// Invariants:
// 1. Pure: no clock, no I/O, no randomness. The command carries the time. Equal inputs give equal results.
// 2. Nothing passed in is changed. Records that did not change keep their identity.
// 3. Settled, reserved and in-doubt amounts together exceed no limit, except by usage that a provider reports.
// 4. A call that is not settled stays booked at its ceiling, on its run, all ancestors and the tree.
// 5. At most `maxAgents` runs hold a slot. A preempted run at work keeps its slot until it has yielded.

import type { RunId } from "#kernel";
import { Account } from "./money/account.ts";
import { admit } from "./slots/admit.ts";
import { adopt } from "./slots/adopt.ts";
import { begin } from "./money/begin.ts";
import { cancelSlots } from "./slots/cancel.ts";
import type {
  Admission,
  Admit,
  Adopt,
  Begin,
  BookedAmounts,
  Cancel,
  ClosedLease,
  ReleaseResult,
  DecisionResult,
  DecideWaiting,
  Expire,
  Gate,
  Reconcile,
  ReconciledAmounts,
  Reprioritize,
  RunAt,
  Settle,
  SlotState,
  TopUp,
  Wait,
  WokenCall,
} from "./command.ts";
import { topUp } from "./money/fund.ts";
import { hasLine, holdsSlot, idleTime, toWorkingTime } from "./slots/count.ts";
import { pauseSlots, resumeSlots } from "./slots/hold.ts";
import { returnQuota, grantQuota, noLease, shrink } from "./money/lease.ts";
import { path } from "./slots/ancestry.ts";
import { open } from "./open.ts";
import { releaseSlot } from "./slots/release.ts";
import { reprioritize } from "./slots/reprioritize.ts";
import { reconcile, settle } from "./money/settle.ts";
import type { LedgerState } from "./state.ts";
import type { LeaseGrant } from "./money/tenant.ts";
import { waitInSlot, wake, yieldSlot } from "./slots/wait.ts";
import { decideWaiting, expire } from "./money/waiting.ts";

/** The argument and the decision of each command. */
interface Rules {
  readonly admit: { readonly takes: Admit; readonly decides: Admission };
  readonly wait: { readonly takes: Wait; readonly decides: SlotState };
  readonly wake: { readonly takes: RunAt; readonly decides: SlotState };
  readonly yield: { readonly takes: RunAt; readonly decides: SlotState };
  readonly release: { readonly takes: RunAt; readonly decides: ReleaseResult };
  readonly pause: { readonly takes: RunAt; readonly decides: readonly RunId[] };
  readonly resume: { readonly takes: RunAt; readonly decides: readonly RunId[] };
  readonly reprioritize: { readonly takes: Reprioritize; readonly decides: SlotState };
  readonly cancel: { readonly takes: Cancel; readonly decides: readonly RunId[] };
  readonly adopt: { readonly takes: Adopt; readonly decides: boolean };
  readonly begin: { readonly takes: Begin; readonly decides: Gate };
  readonly settle: { readonly takes: Settle; readonly decides: BookedAmounts | null };
  readonly reconcile: { readonly takes: Reconcile; readonly decides: ReconciledAmounts | null };
  readonly decideWaiting: { readonly takes: DecideWaiting; readonly decides: readonly WokenCall[] };
  readonly expire: { readonly takes: Expire; readonly decides: null };
  readonly topUp: { readonly takes: TopUp; readonly decides: boolean };
  readonly grantQuota: { readonly takes: LeaseGrant; readonly decides: null };
  readonly returnQuota: { readonly takes: object; readonly decides: ClosedLease | null };
  readonly shrink: { readonly takes: object; readonly decides: ClosedLease | null };
}

/** The name of a command. */
export type CommandKind = keyof Rules;

/** A command by name, or any. */
export type LedgerCommand<Kind extends CommandKind = CommandKind> = {
  readonly [Name in Kind]: { readonly kind: Name } & Rules[Name]["takes"];
}[Kind];

/** The decision of a command, by name. */
export type LedgerDecision<Kind extends CommandKind = CommandKind> = Rules[Kind]["decides"];

const commands = {
  admit,
  wait: waitInSlot,
  wake,
  yield: yieldSlot,
  release: releaseSlot,
  pause: pauseSlots,
  resume: resumeSlots,
  reprioritize,
  cancel: cancelSlots,
  adopt,
  begin,
  settle,
  reconcile,
  decideWaiting,
  expire,
  topUp,
  grantQuota,
  returnQuota,
  shrink,
} as const;

const rules: {
  readonly [Name in CommandKind]: (
    state: LedgerState,
    command: LedgerCommand<Name>,
  ) => DecisionResult<LedgerDecision<Name>>;
} = commands;

/** Executes any command, by its `kind`. */
function decideCommand<Kind extends CommandKind>(
  state: LedgerState,
  command: LedgerCommand<Kind>,
): DecisionResult<LedgerDecision<Kind>> {
  return rules[command.kind](state, command);
}

/** The ledger of one tree: its commands and readers. */
export const Ledger = {
  open,
  ...commands,
  decide: decideCommand,
  path,
  holds: holdsSlot,
  hasLine,
  idleTime,
  toWorkingTime,
  /** Returns the account that a run begins with. */
  account: Account.ofRun,
  spend: Account.spend,
  noLease,
} as const;
