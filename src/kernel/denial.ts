/** The limit that a refusal names. `agents` is the tree's headcount. */
export type BudgetDimension = "tokens" | "cost" | "turns" | "agents";

/**
 * The account whose limit a model call meets: the run's own, that of a run above it (`subtree`), the tree's, or the budget
 * of the tenant or of the user.
 */
export type LimitAccount = "run" | "subtree" | "tree" | "tenant" | "user";

/**
 * The reason for a refused call. `exhausted`: the limit leaves no room for it. `exceeded`: a provider reported more
 * than was reserved, so the limit is exceeded and nothing more begins. `wait-timed-out`: other calls held the money
 * until the wait timed out. `unpriced`: the model's price is unknown. `unbounded`: the call's size is unknown.
 */
export type CallDenialReason = "exhausted" | "exceeded" | "wait-timed-out" | "unpriced" | "unbounded";

/** The reason for a refused slot. `spawned`: the tree has reached its total number of spawned children. */
type SlotDenialReason =
  | "full"
  | "spawned"
  | "no-lower-priority"
  | "preemption-off"
  | "would-deadlock"
  | "ended";

/** The reason for a refused slot or call. */
export type DenialReason = CallDenialReason | SlotDenialReason;
