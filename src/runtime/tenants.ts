import { randomUUID } from "node:crypto";
import { Json, Money, TenantId, UserId, type Engine, type Micros } from "#kernel";
import type { BudgetAccount, BudgetPeriod } from "#ledger";
import { withProtocol, tenantAddress, type SetBudgetArgument } from "#tree";

/** A tenant, or one of its users. */
export interface BudgetOwner {
  readonly tenant: string;
  /** Default: the tenant as a whole. */
  readonly user?: string | undefined;
}

/** The limits for all trees of a tenant, or of one of its users, together in each period. Absent: no limit. */
export interface TenantBudget {
  readonly maxCostUsd?: number | undefined;
  readonly maxTokens?: number | undefined;
  /** The period after which it starts over. Days and months are in UTC. */
  readonly per: BudgetPeriod;
}

/** A budget and its use in the current window. */
export interface TenantBudgetView {
  readonly maxTokens: number | null;
  readonly maxCostMicros: Micros | null;
  readonly per: BudgetPeriod;
  /** Start of the window, or the time at which the budget was set in it. Milliseconds since 1970. */
  readonly from: number;
  /** End of the window. Null: never. */
  readonly until: number | null;
  readonly spent: { readonly tokens: number; readonly costMicros: Micros };
  /** The amounts that open trees hold. Their unused part is returned. */
  readonly lent: { readonly tokens: number; readonly costMicros: Micros };
}

/**
 * Budgets of tenants and their users. A tree is limited by its tenant's and its user's budget, as far as they are set.
 */
export class Tenants {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * Sets a budget; null removes it. It counts reservations from now on, and reaches open trees within a minute. A shorter
   * period than before starts a new count. `by` is for the audit.
   *
   * @throws TypeError, RangeError on invalid limits.
   */
  async setBudget(
    owner: BudgetOwner,
    budget: TenantBudget | null,
    { by, operationId = randomUUID() }: { readonly by?: string; readonly operationId?: string } = {},
  ): Promise<void> {
    const limits = budget && limitsOf(budget);
    const change: SetBudgetArgument = { user: userOf(owner), limits, by: by ?? null, operationId };
    await this.#engine.call(addressOf(owner), "setBudget", withProtocol(change));
  }

  /** Returns the budget and its use. Null: none is set. */
  async budget(owner: BudgetOwner): Promise<TenantBudgetView | null> {
    const query = withProtocol({ user: userOf(owner) });
    return Json.as<BudgetAccount | null>(await this.#engine.call(addressOf(owner), "budget", query));
  }
}

const periods: readonly BudgetPeriod[] = ["day", "month", "ever"];

const addressOf = ({ tenant }: BudgetOwner): ReturnType<typeof tenantAddress> =>
  tenantAddress(TenantId.of(tenant));

const userOf = ({ user }: BudgetOwner): UserId | null => (user === undefined ? null : UserId.of(user));

function limitsOf({ maxCostUsd, maxTokens, per }: TenantBudget): SetBudgetArgument["limits"] {
  if (!periods.includes(per)) throw new TypeError(`per must be one of ${periods.join(", ")}, got ${per}`);
  if (maxTokens === undefined && maxCostUsd === undefined)
    throw new TypeError("a budget needs maxCostUsd or maxTokens; null removes it");
  if (maxTokens !== undefined && !(Number.isSafeInteger(maxTokens) && maxTokens >= 0))
    throw new RangeError(`maxTokens must be an integer >= 0, got ${maxTokens}`);
  return {
    maxTokens: maxTokens ?? null,
    maxCostMicros: maxCostUsd === undefined ? null : Money.cap(Money.checkUsd("maxCostUsd", maxCostUsd)),
    per,
  };
}
