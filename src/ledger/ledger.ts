import type { RunId } from "#kernel";
import { Account } from "./account.ts";
import { admit } from "./admit.ts";
import { adopt } from "./adopt.ts";
import type { Amounts } from "./amounts.ts";
import { begin } from "./begin.ts";
import { cancel } from "./cancel.ts";
import type {
  Admission,
  Admit,
  Adopt,
  Begin,
  Booked,
  Cancel,
  Closing,
  Decided,
  Gate,
  Lend,
  Reconcile,
  Reconciled,
  Reprioritize,
  RunAt,
  Settle,
  Standing,
  TopUp,
  Wait,
} from "./command.ts";
import { giveBack, lend, topUp } from "./fund.ts";
import { headcount, holds } from "./headcount.ts";
import { pause, resume } from "./hold.ts";
import { path, subtree } from "./lineage.ts";
import { open } from "./open.ts";
import { release } from "./release.ts";
import { reprioritize } from "./reprioritize.ts";
import { reconcile, settle } from "./settle.ts";
import type { LedgerState } from "./state.ts";
import { wait, wake, yieldSlot } from "./wait.ts";

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
  readonly topUp: { readonly takes: TopUp; readonly decides: boolean };
  readonly lend: { readonly takes: Lend; readonly decides: null };
  readonly giveBack: { readonly takes: object; readonly decides: Amounts };
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
  topUp,
  lend,
  giveBack,
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
  subtree,
  holds,
  headcount,
  /** The account a run begins with. */
  account: Account.ofRun,
  spend: Account.spend,
} as const;
