import { ExecutionBudget, type AttemptId, type Usage } from "#kernel";
import { Ledger, type Denial, type JointDecided, type RunAccount } from "#ledger";
import type {
  AccountOptions,
  DoubtfulCall,
  GovernEvent,
  Spend,
  SpendAccount,
  SpendBudget,
} from "./spend-account.ts";

/** A call in doubt, and how to clear it on every account it is booked on. */
interface OpenDoubt extends DoubtfulCall {
  reconcile(usage: Usage): boolean;
}

/** An account in this process. */
export class Tab implements SpendAccount {
  readonly name: string;
  readonly budget: SpendBudget;
  #state: RunAccount;
  readonly #doubts = new Map<AttemptId, OpenDoubt>();
  readonly #onEvent: ((event: GovernEvent) => void) | undefined;

  constructor({ budget = {}, name = "account", onEvent }: AccountOptions) {
    this.name = name;
    this.budget = ExecutionBudget.of(budget);
    this.#state = Ledger.account(this.budget);
    this.#onEvent = onEvent;
  }

  /** Returns an open account as it is, or opens a new one. */
  static of(options: AccountOptions | SpendAccount): Tab {
    if (options instanceof Tab) return options;
    if ("spend" in options) throw new TypeError("this account was opened by another copy of the package");
    return new Tab(options);
  }

  /** Makes one decision over several accounts: all of them change, or none. */
  static decide<Decision>(
    tabs: readonly Tab[],
    rule: (accounts: readonly RunAccount[]) => JointDecided<Decision>,
  ): Decision {
    const { accounts, decision, warnings } = rule(tabs.map((tab) => tab.#state));
    for (const [index, tab] of tabs.entries()) tab.#state = accounts[index] ?? tab.#state;
    for (const [index, tab] of tabs.entries()) {
      for (const warning of warnings[index] ?? [])
        tab.tell({ type: "budget.warning", account: tab.name, ...warning });
    }
    return decision;
  }

  get spend(): Spend {
    const { settled, reserved, inDoubt, turns } = this.#state;
    return { settled, reserved, inDoubt, turns };
  }

  get doubts(): readonly DoubtfulCall[] {
    return [...this.#doubts.values()].map(({ attempt, model, ceiling }) => ({ attempt, model, ceiling }));
  }

  reconcile(attempt: AttemptId, usage: Usage): boolean {
    return this.#doubts.get(attempt)?.reconcile(usage) ?? false;
  }

  /** Returns the limit that a call of unknown size could exceed. Null if output is not limited. */
  get limit(): Pick<Denial, "dimension" | "limit" | "used"> | null {
    const { maxTokens, maxCostMicros: maxCost } = this.#state;
    const { tokens, costMicros: cost } = Ledger.spend(this.#state);
    if (maxTokens !== null) return { dimension: "tokens", limit: maxTokens, used: tokens };
    return maxCost === null ? null : { dimension: "cost", limit: maxCost, used: cost };
  }

  doubt(call: OpenDoubt): void {
    this.#doubts.set(call.attempt, call);
  }

  clear(attempt: AttemptId): void {
    this.#doubts.delete(attempt);
  }

  tell(event: GovernEvent): void {
    try {
      this.#onEvent?.(event);
    } catch (error) {
      // The booking is complete, so an error of a listener must not undo it.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
