import { ExecutionBudget, type AttemptId, type Usage } from "#kernel";
import { Ledger, type Denial, type SharedDecision, type RunAccount } from "#ledger";
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
export class GovernAccount implements SpendAccount {
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
  static of(options: AccountOptions | SpendAccount): GovernAccount {
    if (options instanceof GovernAccount) return options;
    if ("spend" in options) throw new TypeError("this account was opened by another copy of the package");
    return new GovernAccount(options);
  }

  /** Makes one decision over several accounts: all of them change, or none. */
  static decide<Decision>(
    governAccounts: readonly GovernAccount[],
    rule: (accounts: readonly RunAccount[]) => SharedDecision<Decision>,
  ): Decision {
    const { accounts, decision, warnings } = rule(
      governAccounts.map((governAccount) => governAccount.#state),
    );
    for (const [index, governAccount] of governAccounts.entries())
      governAccount.#state = accounts[index] ?? governAccount.#state;
    for (const [index, governAccount] of governAccounts.entries()) {
      for (const warning of warnings[index] ?? [])
        governAccount.tell({ type: "budget.warning", account: governAccount.name, ...warning });
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
