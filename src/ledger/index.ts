export type { Account, Doubt, RunAccount } from "./money/account.ts";
export type { Amounts } from "./money/amounts.ts";
export type { ReservationRequest } from "./money/reservation-request.ts";
export type { BudgetPeriod } from "./money/budget-window.ts";
export type {
  Admission,
  Admit,
  Begin,
  BookedAmounts,
  ClosedLease,
  DecisionResult,
  Gate,
  LedgerEffect,
  RunAt,
  WokenCall,
} from "./command.ts";
export type { Denial, Grant } from "./money/fit.ts";
export { type CommandKind, Ledger, type LedgerCommand, type LedgerDecision } from "./ledger.ts";
export { ExecutionTracker } from "./money/execution-tracker.ts";
export { SharedReservation, type SharedCall, type SharedDecision } from "./money/shared-reservation.ts";
export { SpawnTracker } from "./slots/spawn-tracker.ts";
export {
  type BudgetAccount,
  type BudgetLimits,
  type QuotaRequest,
  type QuotaResult,
  type LeaseGrant,
  type Loan,
  TenantLedger,
  type TenantState,
} from "./money/tenant.ts";
export type { TreeLease, Holder, LedgerSource, LedgerState, Queued, Slot, TreeState } from "./state.ts";
export { noRows } from "./table.ts";
