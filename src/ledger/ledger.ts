import type { RunId } from "#kernel";
import { Account } from "./money/account.ts";
import { admit } from "./slots/admit.ts";
import { adopt } from "./slots/adopt.ts";
import { begin } from "./money/begin.ts";
import { cancel } from "./slots/cancel.ts";
import type {
  Admission,
  Admit,
  Adopt,
  Begin,
  Booked,
  Cancel,
  Closed,
  Closing,
  Decided,
  DecideWaiting,
  Expire,
  Gate,
  Reconcile,
  Reconciled,
  Reprioritize,
  RunAt,
  Settle,
  Standing,
  TopUp,
  Wait,
  WokenCall,
} from "./command.ts";
import { topUp } from "./money/fund.ts";
import { holds } from "./slots/count.ts";
import { pause, resume } from "./slots/hold.ts";
import { giveBack, lend, noLease, shrink } from "./money/lease.ts";
import { path } from "./slots/lineage.ts";
import { open } from "./open.ts";
import { release } from "./slots/release.ts";
import { reprioritize } from "./slots/reprioritize.ts";
import { reconcile, settle } from "./money/settle.ts";
import type { LedgerState } from "./state.ts";
import type { Lent } from "./money/tenant.ts";
import { wait, wake, yieldSlot } from "./slots/wait.ts";
import { decideWaiting, expire } from "./money/waiting.ts";

/** What each command takes, and what it decides. */
interface Rules {
  readonly admit: { readonly takes: Admit; readonly decides: Admission };
  readonly wait: { readonly takes: Wait; readonly decides: Standing };
  readonly wake: { readonly takes: RunAt; readonly decides: Standing };
  readonly yield: { readonly takes: RunAt; readonly decides: Standing };
  readonly release: { readonly takes: RunAt; readonly decides: Closing };
  readonly pause: { readonly takes: RunAt; readonly decides: readonly RunId[] };
  readonly resume: { readonly takes: RunAt; readonly decides: readonly RunId[] };
  readonly reprioritize: { readonly takes: Reprioritize; readonly decides: Standing };
  readonly cancel: { readonly takes: Cancel; readonly decides: readonly RunId[] };
  readonly adopt: { readonly takes: Adopt; readonly decides: boolean };
  readonly begin: { readonly takes: Begin; readonly decides: Gate };
  readonly settle: { readonly takes: Settle; readonly decides: Booked | null };
  readonly reconcile: { readonly takes: Reconcile; readonly decides: Reconciled | null };
  readonly decideWaiting: { readonly takes: DecideWaiting; readonly decides: readonly WokenCall[] };
  readonly expire: { readonly takes: Expire; readonly decides: null };
  readonly topUp: { readonly takes: TopUp; readonly decides: boolean };
  readonly lend: { readonly takes: Lent; readonly decides: null };
  readonly giveBack: { readonly takes: object; readonly decides: Closed | null };
  readonly shrink: { readonly takes: object; readonly decides: Closed | null };
}

/** The name of a command. */
export type CommandKind = keyof Rules;

/** A command by name, or any. */
export type LedgerCommand<Kind extends CommandKind = CommandKind> = {
  readonly [Name in Kind]: { readonly kind: Name } & Rules[Name]["takes"];
}[Kind];

/** What a command by name decides. */
export type LedgerDecision<Kind extends CommandKind = CommandKind> = Rules[Kind]["decides"];

const commands = {
  admit,
  wait,
  wake,
  yield: yieldSlot,
  release,
  pause,
  resume,
  reprioritize,
  cancel,
  adopt,
  begin,
  settle,
  reconcile,
  decideWaiting,
  expire,
  topUp,
  lend,
  giveBack,
  shrink,
} as const;

const rules: {
  readonly [Name in CommandKind]: (
    state: LedgerState,
    command: LedgerCommand<Name>,
  ) => Decided<LedgerDecision<Name>>;
} = commands;

/** Any command, by its `kind`. */
function decide<Kind extends CommandKind>(
  state: LedgerState,
  command: LedgerCommand<Kind>,
): Decided<LedgerDecision<Kind>> {
  return rules[command.kind](state, command);
}

/**
 * Money and headcount of one tree. Pure: a state and a command give a new state, a decision, and what the host has to
 * do. No clock, no I/O; nothing passed in is changed.
 */
export const Ledger = {
  open,
  ...commands,
  decide,
  path,
  holds,
  /** The account a run begins with. */
  account: Account.ofRun,
  spend: Account.spend,
  noLease,
} as const;
