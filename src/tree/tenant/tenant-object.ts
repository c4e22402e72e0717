import { Json, type ObjectContext, type ObjectDefinition, type TreeId, type UserId } from "#kernel";
import { TenantLedger, type BudgetAccount, type Loan, type TenantState } from "#ledger";
import { treeAddress } from "../addresses.ts";
import { budgetNote } from "./budget-note.ts";
import {
  tenantType,
  type QuotaArgument,
  type ReturnArgument,
  type SetBudgetArgument,
} from "./tenant-protocol.ts";
import type { ProjectorOrder } from "../orders.ts";
import { projectorType } from "../state/tree-work.ts";

/*
 * The budgets of a tenant and of its users, and the leases of its trees. A tenant may have any number of users and open
 * trees, so each budget and each loan is a separate value, and a call reads those of one tree and one user:
 *
 * - `budget` and `budget/<user>`: limits, and running sums of spent and lent amounts.
 * - `loan/<tree>`: an open lease. `holder/<index>` names the trees that have one, without gaps, so that a tree that
 *   gets too little can recall the next few. `holders` is their number, and the next index to recall.
 */

interface StoredLoan extends Loan {
  /** Its index among the holders. */
  readonly index: number;
}

interface Holders {
  readonly count: number;
  /** Index of the next holder that is asked to return its loan. */
  readonly next: number;
  readonly recalledAt: number;
}

/** Number of trees that one refused request asks to return their unused part. */
const recalledAtOnce = 16;

/** Minimum time between two recalls. Many trees may get too little at the same time: only the first of them recalls. */
const recallEveryMs = 100;

const holdersKey = "holders";

const budgetKey = (user: UserId | null): string => (user === null ? "budget" : `budget/${user}`);

const loanKey = (tree: TreeId): string => `loan/${tree}`;

const holderKey = (index: number): string => `holder/${index}`;

type LoanOwner = Pick<QuotaArgument, "tree" | "user">;

/** One call about a tree of a tenant: the values it reads and changes. */
class TenantWork {
  readonly #object: ObjectContext;
  readonly #whose: LoanOwner;
  readonly #users: readonly (UserId | null)[];
  readonly #loan: StoredLoan | null;
  readonly state: TenantState;

  constructor(object: ObjectContext, whose: LoanOwner) {
    this.#object = object;
    this.#whose = whose;
    const users = whose.user === null ? [null] : [null, whose.user];
    object.prefetch([...users.map(budgetKey), loanKey(whose.tree), holdersKey]);
    const budgets = users.map((user) => Json.as<BudgetAccount | null>(object.get(budgetKey(user))));
    this.#users = users.filter((_, index) => budgets[index]);
    this.#loan = Json.as<StoredLoan | null>(object.get(loanKey(whose.tree)));
    const { index: _, ...loan } = this.#loan ?? { index: 0 };
    this.state = {
      accounts: budgets.filter((account) => account !== null),
      owners: this.#users.map((user) => (user === null ? "tenant" : "user")),
      loan: this.#loan && Json.as<Loan>(Json.of(loan)),
    };
  }

  write({ accounts, loan }: TenantState): void {
    accounts.forEach((account, index) => {
      const user = this.#users[index] ?? null;
      if (account !== this.state.accounts[index]) this.#object.set(budgetKey(user), Json.of(account));
    });
    if (loan === this.state.loan) return;
    if (loan) this.#put(loan);
    else if (this.#loan) this.#remove(this.#loan);
  }

  /** Asks the next few holders to return their unused part. */
  recall(): void {
    const object = this.#object;
    const { count, next, recalledAt } = this.#holders;
    const now = object.now();
    if (now - recalledAt < recallEveryMs) return;
    const places = Array.from({ length: Math.min(count, recalledAtOnce) }, (_, n) => (next + n) % count);
    object.prefetch(places.map(holderKey));
    for (const place of places) {
      const tree = Json.as<TreeId | null>(object.get(holderKey(place)));
      if (tree === null || tree === this.#whose.tree) continue;
      object.send(treeAddress(tree, object.key), "recall", { at: now });
    }
    object.set(holdersKey, Json.of({ count, next: next + places.length, recalledAt: now } satisfies Holders));
  }

  get #holders(): Holders {
    return Json.as<Holders>(this.#object.get(holdersKey) ?? { count: 0, next: 0, recalledAt: 0 });
  }

  #put(loan: Loan): void {
    const { tree } = this.#whose;
    const holders = this.#holders;
    const index = this.#loan?.index ?? holders.count;
    this.#object.set(loanKey(tree), Json.of({ ...loan, index } satisfies StoredLoan));
    if (this.#loan) return;
    this.#object.set(holderKey(index), tree);
    this.#object.set(holdersKey, Json.of({ ...holders, count: index + 1 } satisfies Holders));
  }

  /** Removes a loan. The last holder takes its index. */
  #remove({ index }: StoredLoan): void {
    const object = this.#object;
    const holders = this.#holders;
    const last = holders.count - 1;
    object.clear(loanKey(this.#whose.tree));
    if (index !== last) {
      const moved = Json.as<TreeId>(object.get(holderKey(last)));
      const loan = Json.as<StoredLoan>(object.get(loanKey(moved)));
      object.set(loanKey(moved), Json.of({ ...loan, index } satisfies StoredLoan));
      object.set(holderKey(index), moved);
    }
    object.clear(holderKey(last));
    object.set(holdersKey, Json.of({ ...holders, count: last } satisfies Holders));
  }
}

/** Lends to a tree from the budgets of its tenant and its user. */
function requestQuota(object: ObjectContext, argument: Json): Json {
  const { tree, user, ...command } = Json.as<QuotaArgument>(argument);
  const work = new TenantWork(object, { tree, user });
  const { state, decision } = TenantLedger.requestQuota(work.state, { ...command, at: object.now() });
  work.write(state);
  if (decision === "short") work.recall();
  return Json.of(decision);
}

/** Closes the lease of a tree. */
function returnQuota(object: ObjectContext, argument: Json): Json {
  const { tree, user, leasedAt, used } = Json.as<ReturnArgument>(argument);
  const work = new TenantWork(object, { tree, user });
  if (work.state.loan?.leasedAt === leasedAt) work.write(TenantLedger.close(work.state, used));
  return null;
}

/** Takes back the unused part of the lease of a tree with calls in flight. */
function shrink(object: ObjectContext, argument: Json): Json {
  const { tree, user, leasedAt, used } = Json.as<ReturnArgument>(argument);
  const work = new TenantWork(object, { tree, user });
  if (work.state.loan?.leasedAt === leasedAt) work.write(TenantLedger.shrink(work.state, used));
  return null;
}

/** Books the difference between a call's real cost and the cost reported when its lease was closed. */
function correct(object: ObjectContext, argument: Json): Json {
  const { tree, user, leasedAt, used } = Json.as<ReturnArgument>(argument);
  const work = new TenantWork(object, { tree, user });
  work.write(TenantLedger.correct(work.state, { leasedAt, ...used }));
  return null;
}

/** Returns the present budget of a tenant or of one of its users. */
function budget(object: ObjectContext, argument: Json): Json {
  const { user } = Json.as<{ readonly user: UserId | null }>(argument);
  const account = Json.as<BudgetAccount | null>(object.get(budgetKey(user)));
  return Json.of(account && TenantLedger.roll(account, object.now()));
}

/** Returns the definition of tenant objects. `projects`: whether there is a store, so that changes are audited. */
export function tenantObject({ projects }: { readonly projects: boolean }): ObjectDefinition {
  const setBudget = (object: ObjectContext, argument: Json): Json => {
    const change = Json.as<SetBudgetArgument>(argument);
    const { user, limits } = change;
    const account = Json.as<BudgetAccount | null>(object.get(budgetKey(user)));
    object.set(budgetKey(user), Json.of(limits && TenantLedger.setBudget(account, limits, object.now())));
    if (!projects) return null;
    const order: ProjectorOrder = { kind: "note", note: budgetNote(change, object.now()) };
    object.send({ type: projectorType, key: object.key }, "take", Json.of(order));
    return null;
  };
  return {
    type: tenantType,
    methods: { setBudget, requestQuota, returnQuota, shrink, correct },
    queries: { budget },
  };
}
