import type { Micros } from "#kernel";
import { Amounts } from "./amounts.ts";
import { budgetWindow, type BudgetPeriod } from "./budget-window.ts";

/*
 * The budgets of a tenant and its users. They are lent to trees in leases, so that not every call asks the tenant.
 *
 * 1. Spent and lent amounts together never exceed a limit, except by calls that cost more than their ceilings.
 * 2. A lease is inside one window of each budget: it ends with the first of these windows. So a loan counts in the
 *    window in which it was made, whenever the tree reports its use.
 * 3. A lease counts in the budgets whose window had begun when it was made.
 */

/** The limits of a budget. Null: no limit. */
export interface BudgetLimits {
  readonly maxTokens: number | null;
  readonly maxCostMicros: Micros | null;
  readonly per: BudgetPeriod;
}

/** The budget of a tenant, or of one of its users, for all trees together in one window. */
export interface BudgetAccount extends BudgetLimits {
  /** Start of the window, or the time at which the budget was set in it. */
  readonly from: number;
  /** End of the window. Null: never. */
  readonly until: number | null;
  /** Amounts of closed leases. */
  readonly spent: Amounts;
  /** Amounts of open leases. */
  readonly lent: Amounts;
}

/** An open lease, as the tenant counts it. */
export interface Loan extends Amounts {
  readonly leasedAt: number;
}

/** The budgets that limit a tree, and its loan. */
export interface TenantState {
  /** The budgets of the tenant and of the user, as far as they are set. */
  readonly accounts: readonly BudgetAccount[];
  /** The owner of each account, for refusals. Default: the tenant. */
  readonly owners?: readonly LeaseLimit["account"][] | undefined;
  /** Null: the tree has no lease. */
  readonly loan: Loan | null;
}

/** A tree's request for a lease. */
export interface QuotaRequest extends Amounts {
  /** The used part of its lease, calls in flight at their ceilings. */
  readonly used: Amounts;
  /** Whether its lease has ended, so that it needs another one. */
  readonly renews: boolean;
  /**
   * Whether the tree asks again later if there is too little now. If so, it gets nothing, and other trees are asked to
   * return theirs.
   */
  readonly mayWait: boolean;
  readonly at: number;
}

/** The budget that limits a lease in one dimension: the one with the least left. A snapshot. */
interface LeaseLimit {
  readonly account: "tenant" | "user";
  readonly limit: number;
  readonly spent: number;
  /** Lent to other trees. */
  readonly reserved: number;
}

/** The amounts that a tree may use, and the end of the lease. Null dimensions have no limit. */
export interface Lease {
  readonly tokens: number | null;
  readonly costMicros: Micros | null;
  readonly limits: { readonly tokens: LeaseLimit | null; readonly costMicros: LeaseLimit | null };
  /** 0: nothing limits the tree, so nothing is counted. */
  readonly leasedAt: number;
  readonly until: number;
}

/** A granted request. */
export interface LeaseGrant extends Lease {
  /** Whether the grant is added to the tree's lease. If not, that lease is closed. */
  readonly adds: boolean;
}

/** The outcome of a request. `short`: other trees hold the missing amount, and the tree's own lease is closed. */
export type QuotaResult = LeaseGrant | "short";

/** The outcome of a command to a tenant. */
export interface TenantDecided<Decision> {
  readonly state: TenantState;
  readonly decision: Decision;
}

/** The limits of an unlimited lease. */
export const noLimits: Lease["limits"] = Object.freeze({ tokens: null, costMicros: null });

/** Maximum duration of a lease. A new or changed budget reaches every tree within this time. */
const leaseMs = 60_000;
/** Divisor of the standard loan: a sixteenth of the limit, if available. */
const blocks = 16;

/** The money of a tenant and its users. Pure. */
export const TenantLedger = {
  /**
   * Sets the limits. Amounts lent and spent in the window stay, even if they exceed the limits. So they do with a longer
   * period: what was spent today was also spent this month. A shorter one starts a new count, because it is not known how
   * much of the sum is in it.
   */
  setBudget: (account: BudgetAccount | null, limits: BudgetLimits, at: number): BudgetAccount => {
    const { from, until } = budgetWindow(limits.per, at);
    if (!account) return { ...limits, from: at, until, spent: Amounts.none, lent: Amounts.none };
    const current = roll(account, at);
    if (current.per === limits.per) return { ...current, ...limits };
    const isInWindow = limits.per === "ever" || current.from >= from;
    return { ...current, ...limits, until, spent: isInWindow ? current.spent : Amounts.none };
  },

  /** Returns the account in the window of this moment. */
  roll,

  /** Lends at least the requested amount, if it is free, and preferably a standard loan. */
  requestQuota: (
    state: TenantState,
    { tokens, costMicros, used, renews, mayWait, at }: QuotaRequest,
  ): TenantDecided<QuotaResult> => {
    const now = state.accounts.reduce((latest, { from }) => Math.max(latest, from), at);
    const rolled = { ...state, accounts: state.accounts.map((account) => roll(account, now)) };
    const isWhole =
      rolled.accounts.length > 0 && rolled.accounts.every((account) => isInWindow(account, state.loan));
    const current = isWhole && !renews ? rolled : closeLoan(rolled, used);
    const { accounts, loan } = current;
    if (accounts.length === 0)
      return createQuotaDecision(current, {
        tokens: null,
        costMicros: null,
        limits: noLimits,
        leasedAt: 0,
        until: now + leaseMs,
        adds: false,
      });
    const owned = { ...current, owners: state.owners };
    const forTokens = portion(owned, "tokens", tokens);
    const forCost = portion(owned, "costMicros", costMicros);
    const granted = { tokens: forTokens.lends, costMicros: forCost.lends };
    const isShort = (granted.tokens ?? Infinity) < tokens || (granted.costMicros ?? Infinity) < costMicros;
    if (isShort && mayWait && isLentToOthers(current))
      return createQuotaDecision(closeLoan(current, used), "short");
    const lent = { tokens: granted.tokens ?? 0, costMicros: granted.costMicros ?? 0 };
    const leasedAt = loan?.leasedAt ?? now;
    return createQuotaDecision(
      {
        accounts: accounts.map((account) => ({ ...account, lent: Amounts.add(account.lent, lent) })),
        loan: { ...Amounts.add(loan ?? Amounts.none, lent), leasedAt },
      },
      {
        ...granted,
        limits: { tokens: forTokens.limit, costMicros: forCost.limit },
        leasedAt,
        until: Math.min(leasedAt + leaseMs, ...accounts.map(edge)),
        adds: loan !== null,
      },
    );
  },

  /** Closes the lease of a tree: the used part is spent, the rest is free again. */
  close: closeLoan,

  /** Reduces the lease of a tree with calls in flight to its used part. The rest is free again. */
  shrink: (state: TenantState, used: Amounts): TenantState => {
    const { accounts, loan } = state;
    if (!loan) return state;
    const kept = {
      tokens: Math.min(loan.tokens, used.tokens),
      costMicros: Math.min(loan.costMicros, used.costMicros),
    };
    const freed = Amounts.subtract(loan, kept);
    const free = (account: BudgetAccount): BudgetAccount =>
      isInWindow(account, loan) ? { ...account, lent: Amounts.subtract(account.lent, freed) } : account;
    return { accounts: accounts.map(free), loan: { ...loan, ...kept } };
  },

  /** Corrects the amount of a closed lease: a call cost more, or less, than reported then. */
  correct: (state: TenantState, { leasedAt, ...more }: Loan): TenantState => ({
    ...state,
    accounts: state.accounts.map((account) =>
      isInWindow(account, { leasedAt }) ? { ...account, spent: Amounts.add(account.spent, more) } : account,
    ),
  }),
} as const;

function roll(account: BudgetAccount, at: number): BudgetAccount {
  if (account.until === null || at < account.until) return account;
  return { ...account, ...budgetWindow(account.per, at), spent: Amounts.none, lent: Amounts.none };
}

function closeLoan({ accounts, loan }: TenantState, used: Amounts): TenantState {
  if (!loan) return { accounts, loan };
  const closed = accounts.map((account) =>
    isInWindow(account, loan)
      ? {
          ...account,
          lent: Amounts.subtract(account.lent, loan),
          spent: Amounts.add(account.spent, used),
        }
      : account,
  );
  return { accounts: closed, loan: null };
}

/** Whether a lease belongs to the account's window. */
const isInWindow = ({ from }: BudgetAccount, loan: Pick<Loan, "leasedAt"> | null): boolean =>
  loan !== null && loan.leasedAt >= from;

const edge = ({ until }: BudgetAccount): number => until ?? Infinity;

/** The part of a dimension that can be lent, and the budget with the least left. Null: unlimited. */
interface Portion {
  readonly lends: number | null;
  readonly limit: LeaseLimit | null;
}

/** Returns the part of a dimension that all accounts can lend. */
function portion({ accounts, owners, loan }: TenantState, dimension: keyof Amounts, asked: number): Portion {
  let lends: number | null = null;
  let leastFree = Infinity;
  let limiting: LeaseLimit | null = null;
  for (const [index, account] of accounts.entries()) {
    const limit = dimension === "tokens" ? account.maxTokens : account.maxCostMicros;
    if (limit === null) continue;
    const spent = account.spent[dimension];
    const lent = account.lent[dimension];
    const free = Math.max(0, limit - spent - lent);
    lends = Math.min(lends ?? Infinity, free, Math.max(asked, Math.floor(limit / blocks)));
    if (free >= leastFree) continue;
    leastFree = free;
    const reserved = lent - (loan?.[dimension] ?? 0);
    limiting = { account: owners?.[index] ?? "tenant", limit, spent, reserved };
  }
  return { lends, limit: limiting };
}

function isLentToOthers({ accounts, loan }: TenantState): boolean {
  const { tokens, costMicros } = loan ?? Amounts.none;
  return accounts.some(({ lent }) => lent.tokens > tokens || lent.costMicros > costMicros);
}

const createQuotaDecision = (state: TenantState, decision: QuotaResult): TenantDecided<QuotaResult> => ({
  state,
  decision,
});
