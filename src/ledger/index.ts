export type { Account, Attempt, Doubt, RunAccount } from "./account.ts";
export type { Amounts } from "./amounts.ts";
export type {
  Admission,
  Admit,
  Adopt,
  Ask,
  Begin,
  Booked,
  Cancel,
  Closing,
  Decided,
  Gate,
  LedgerEffect,
  Lend,
  Open,
  Reconcile,
  Reconciled,
  Reprioritize,
  RunAt,
  Settle,
  Standing,
  TopUp,
  Wait,
} from "./command.ts";
export type { Warning } from "./book.ts";
export type { Denial, Fit } from "./fit.ts";
export { type CommandKind, Ledger, type LedgerCommand, type LedgerDecision } from "./ledger.ts";
export { ExecutionTracker, type Consumption, type Reservation } from "./execution-tracker.ts";
export { Joint, type JointCall, type JointDecided } from "./joint.ts";
export { SpawnTracker } from "./spawn-tracker.ts";
export {
  type Draw,
  type GiveBack,
  type Grant,
  type Loan,
  type TenantDecided,
  TenantLedger,
  type TenantState,
} from "./tenant.ts";
export type { Block, LedgerState, Phase, Slot, TreeState } from "./state.ts";
export { noRows } from "./table.ts";
