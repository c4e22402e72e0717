import { AttemptId, BudgetExhaustedError, type Price, type Usage } from "#kernel";
import { Joint, type Amounts, type Ask, type Booked, type Denial, type Fit, type JointCall } from "#ledger";
import type { DoubtfulCall } from "./spend-account.ts";
import { Tab } from "./tab.ts";

/** A reservation request on all accounts of a call. */
export interface Wish extends Omit<Ask, "landing"> {
  readonly model: string;
  /**
   * The unbounded part of the call and the option that allows it; it is refused if anything is limited. Null if the
   * call is bounded.
   */
  readonly remedy: string | null;
}

let last = 0;

/** One model call and the accounts it is booked on. */
export class TabCall implements JointCall, DoubtfulCall {
  readonly attempt: AttemptId;
  readonly model: string;
  readonly ceiling: Amounts;
  readonly price: Price | null;
  /** Maximum output tokens of the call. */
  readonly outputTokens: number;
  /** Whether that is less than was asked for: an answer cut at this length must not be acted on. */
  readonly isShrunk: boolean;
  readonly #tabs: readonly Tab[];
  #state: "open" | "in-doubt" | "settled" = "open";

  private constructor(tabs: readonly Tab[], { model, price }: Wish, fit: Fit) {
    this.attempt = AttemptId.of(`call-${(last += 1)}`);
    this.model = model;
    this.price = price;
    this.ceiling = fit.ceiling;
    this.outputTokens = fit.outputTokens;
    this.isShrunk = fit.shrunk !== null;
    this.#tabs = tabs;
  }

  /** Reserves the worst case. @throws BudgetExhaustedError with nothing booked. */
  static begin(tabs: readonly Tab[], wish: Wish): TabCall {
    if (wish.remedy !== null) TabCall.refuseUnbounded(tabs, wish.model, wish.remedy);
    const decision = Tab.decide(tabs, (accounts) => Joint.begin(accounts, { ...wish, landing: false }));
    if (decision.kind === "denied") throw denied(tabs, wish.model, decision);
    const call = new TabCall(tabs, wish, decision);
    call.#tell({ type: "budget.reserved", ...call.ceiling });
    return call;
  }

  /** @throws BudgetExhaustedError where anything limits what a call may say. */
  static refuseUnbounded(tabs: readonly Tab[], model: string, remedy: string): void {
    const limit = tabs.map((tab) => tab.limit).find((each) => each !== null);
    if (limit) throw denied(tabs, model, { ...limit, reason: "unbounded", remedy });
  }

  /** Ends the call. Null if its usage is unknown. Only the first end counts. Returns whether it is settled. */
  end(usage: Usage | null): boolean {
    if (this.#state !== "open") return false;
    const booked = Tab.decide(this.#tabs, (accounts) => Joint.settle(accounts, this, usage));
    this.#state = booked.inDoubt ? "in-doubt" : "settled";
    if (booked.inDoubt) for (const tab of this.#tabs) tab.doubt(this);
    this.#tell({ type: "budget.settled", ...booked });
    return !booked.inDoubt;
  }

  reconcile(usage: Usage): boolean {
    const booked = Tab.decide(this.#tabs, (accounts) => Joint.reconcile(accounts, this, usage));
    if (!booked) return false;
    this.#state = "settled";
    for (const tab of this.#tabs) tab.clear(this.attempt);
    this.#tell({ type: "budget.settled", ...booked });
    return true;
  }

  #tell(
    event: ({ readonly type: "budget.reserved" } & Amounts) | ({ readonly type: "budget.settled" } & Booked),
  ): void {
    const { attempt, model } = this;
    for (const tab of this.#tabs) tab.tell({ ...event, account: tab.name, attempt, model });
  }
}

function denied(
  tabs: readonly Tab[],
  model: string,
  denial: Pick<Denial, "dimension" | "limit" | "used" | "reason"> & { readonly remedy?: string },
): BudgetExhaustedError {
  // Its account is named by the event: it belongs to no tree.
  const { dimension, limit, used, reason, remedy } = denial;
  for (const tab of tabs)
    tab.tell({ type: "budget.denied", account: tab.name, model, dimension, limit, used, reason });
  return new BudgetExhaustedError({ dimension, limit, used, reason, remedy });
}
