export type { Account, Attempt, Doubt, RunAccount, WaitingCall } from "./money/account.ts";
export type { Amounts } from "./money/amounts.ts";
export type { Ask } from "./money/ask.ts";
export type { BudgetPeriod } from "./money/budget-window.ts";
export type {
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
  LedgerEffect,
  Open,
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
export type { Warning } from "./money/book.ts";
export type { Denial, Fit } from "./money/fit.ts";
export { type CommandKind, Ledger, type LedgerCommand, type LedgerDecision } from "./ledger.ts";
export { ExecutionTracker, type Consumption, type Reservation } from "./money/execution-tracker.ts";
export { Joint, type JointCall, type JointDecided } from "./money/joint.ts";
export { SpawnTracker } from "./slots/spawn-tracker.ts";
export {
  type BudgetAccount,
  type BudgetLimits,
  type Draw,
  type Drawn,
  type Lease,
  type LeaseLimit,
  type Lent,
  type Loan,
  type TenantDecided,
  TenantLedger,
  type TenantState,
} from "./money/tenant.ts";
export type { Block, Holder, LedgerSource, LedgerState, Phase, Queued, Slot, TreeState } from "./state.ts";
export { noRows } from "./table.ts";
