import { AttemptId, BudgetExhaustedError, type Price, type Usage } from "#kernel";
import {
  SharedReservation,
  type Amounts,
  type ReservationRequest,
  type BookedAmounts,
  type Denial,
  type Grant,
  type SharedCall,
} from "#ledger";
import type { DoubtfulCall } from "./spend-account.ts";
import { GovernAccount } from "./govern-account.ts";

/** A reservation request on all accounts of a call. */
export interface GovernedEstimate extends Omit<ReservationRequest, "landing"> {
  readonly model: string;
  /**
   * The unbounded part of the call and the option that allows it; it is refused if anything is limited. Null if the
   * call is bounded.
   */
  readonly remedy: string | null;
}

let last = 0;

/** One model call and the accounts it is booked on. */
export class ReservedCall implements SharedCall, DoubtfulCall {
  readonly attempt: AttemptId;
  readonly model: string;
  readonly ceiling: Amounts;
  readonly price: Price | null;
  /** Maximum output tokens of the call. */
  readonly outputTokens: number;
  /** Whether that is less than was asked for: an answer cut at this length must not be acted on. */
  readonly isShrunk: boolean;
  readonly #tabs: readonly GovernAccount[];
  #state: "open" | "in-doubt" | "settled" = "open";

  private constructor(
    governAccounts: readonly GovernAccount[],
    { model, price }: GovernedEstimate,
    fit: Grant,
  ) {
    this.attempt = AttemptId.of(`call-${(last += 1)}`);
    this.model = model;
    this.price = price;
    this.ceiling = fit.ceiling;
    this.outputTokens = fit.outputTokens;
    this.isShrunk = fit.shrunk !== null;
    this.#tabs = governAccounts;
  }

  /** Reserves the worst case. @throws BudgetExhaustedError with nothing booked. */
  static begin(governAccounts: readonly GovernAccount[], estimate: GovernedEstimate): ReservedCall {
    if (estimate.remedy !== null)
      ReservedCall.refuseUnbounded(governAccounts, estimate.model, estimate.remedy);
    const decision = GovernAccount.decide(governAccounts, (accounts) =>
      SharedReservation.begin(accounts, { ...estimate, landing: false }),
    );
    if (decision.kind === "denied") throw toExhaustedError(governAccounts, estimate.model, decision);
    const call = new ReservedCall(governAccounts, estimate, decision);
    call.#tell({ type: "budget.reserved", ...call.ceiling });
    return call;
  }

  /** @throws BudgetExhaustedError where anything limits what a call may say. */
  static refuseUnbounded(governAccounts: readonly GovernAccount[], model: string, remedy: string): void {
    const limit = governAccounts.map((governAccount) => governAccount.limit).find((each) => each !== null);
    if (limit) throw toExhaustedError(governAccounts, model, { ...limit, reason: "unbounded", remedy });
  }

  /** Ends the call. Null if its usage is unknown. Only the first end counts. Returns whether it is settled. */
  end(usage: Usage | null): boolean {
    if (this.#state !== "open") return false;
    const booked = GovernAccount.decide(this.#tabs, (accounts) =>
      SharedReservation.settle(accounts, this, usage),
    );
    this.#state = booked.inDoubt ? "in-doubt" : "settled";
    if (booked.inDoubt) for (const governAccount of this.#tabs) governAccount.doubt(this);
    this.#tell({ type: "budget.settled", ...booked });
    return !booked.inDoubt;
  }

  reconcile(usage: Usage): boolean {
    const booked = GovernAccount.decide(this.#tabs, (accounts) =>
      SharedReservation.reconcile(accounts, this, usage),
    );
    if (!booked) return false;
    this.#state = "settled";
    for (const governAccount of this.#tabs) governAccount.clear(this.attempt);
    this.#tell({ type: "budget.settled", ...booked });
    return true;
  }

  #tell(
    event:
      | ({ readonly type: "budget.reserved" } & Amounts)
      | ({ readonly type: "budget.settled" } & BookedAmounts),
  ): void {
    const { attempt, model } = this;
    for (const governAccount of this.#tabs)
      governAccount.tell({ ...event, account: governAccount.name, attempt, model });
  }
}

function toExhaustedError(
  governAccounts: readonly GovernAccount[],
  model: string,
  denial: Pick<Denial, "dimension" | "limit" | "used" | "reason"> & { readonly remedy?: string },
): BudgetExhaustedError {
  // Its account is named by the event: it belongs to no tree.
  const { dimension, limit, used, reason, remedy } = denial;
  for (const governAccount of governAccounts)
    governAccount.tell({
      type: "budget.denied",
      account: governAccount.name,
      model,
      dimension,
      limit,
      used,
      reason,
    });
  return new BudgetExhaustedError({ dimension, limit, used, reason, remedy });
}
