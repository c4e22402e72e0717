import * as fc from "fast-check";
import { type ExecutionBudget, Money, type RunId, Usage } from "#kernel";
import type { Amounts, ReservationRequest } from "#ledger";
import { root, run } from "./tree.ts";

/** One model call of a caller: the attempt and its step. */
export interface Call {
  readonly run: RunId;
  readonly step: number;
  readonly attempt: string;
  readonly ask: ReservationRequest;
}

/** The tested component, which decides whether a call is made. */
export interface Bank {
  /** Returns the granted output. Null if the call may not be made. */
  begin(call: Call): number | null;
  /** Settles a call. Null or impossible figures: unknown usage. */
  settle(call: Call, usage: Usage | null): void;
  /** Ends a run with its calls in flight. */
  end?(run: RunId): void;
  /** After every move. */
  check?(): void;
}

/** A tree of runs with limits, callers that work for them, and the order in which they move. */
export interface Scenario {
  /** The parent of run 1, 2, and so on, as an earlier run. */
  readonly leads: readonly number[];
  readonly treeBudget: ExecutionBudget;
  readonly budgets: readonly ExecutionBudget[];
  /** The run of each caller. */
  readonly callers: readonly number[];
  /** The caller that moves, the size of its call, and its outcome. */
  readonly moves: readonly (readonly [caller: number, size: number, luck: number])[];
}

const price = { input: 1_500_000, output: 4_700_000 };
const most = 12;

/** Mostly without a limit, and rarely a tiny one: calls should overlap and then reach it. */
const limit = (max: number, odds: number): fc.Arbitrary<number | undefined> =>
  fc.oneof(
    { weight: odds, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.noBias(fc.nat(max)) },
  );

const budgetWith = (odds: number): fc.Arbitrary<ExecutionBudget> =>
  fc.record({
    maxTokens: limit(12_000, odds),
    maxCostUsd: limit(50_000, odds).map((micros) => (micros === undefined ? undefined : Money.usd(micros))),
    maxTurns: limit(12, odds),
  });

export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  leads: fc.array(fc.nat(most - 1), { maxLength: most - 1, size: "max" }),
  treeBudget: budgetWith(1),
  budgets: fc.array(budgetWith(9), { minLength: most, maxLength: most }),
  callers: fc.array(fc.noBias(fc.nat(most - 1)), { minLength: 1, maxLength: 40, size: "max" }),
  moves: fc.array(fc.noBias(fc.tuple(fc.nat(39), fc.nat(249), fc.nat(19))), { maxLength: 160, size: "max" }),
});

/** Returns the runs of a scenario, parents first, each with its parent. */
export function runsOf({ leads }: Scenario): readonly (readonly [RunId, RunId])[] {
  return leads.map((lead, index) => [nth(index + 1), nth(lead % (index + 1))] as const);
}

export const nth = (index: number): RunId => (index === 0 ? root : run(`r${index}`));

/** Plays a scenario against a bank, and keeps the provider's own bill of every account. */
export class Market {
  /** The largest relative excess of a bill over its cap. 0 if there is none. */
  worst = 0;
  /** Number of bills exactly at their cap. */
  exact = 0;
  readonly #bank: Bank;
  readonly #scenario: Scenario;
  readonly #parentOf: ReadonlyMap<RunId, RunId>;
  readonly #bills = new Map<RunId | null, Amounts>();
  readonly #open = new Map<number, { readonly call: Call; readonly output: number }>();
  readonly #lost = new Map<number, Call>();
  #count = 0;

  constructor(bank: Bank, scenario: Scenario) {
    this.#bank = bank;
    this.#scenario = scenario;
    this.#parentOf = new Map(runsOf(scenario));
  }

  play(): this {
    for (const [caller, size, luck] of this.#scenario.moves) {
      const who = caller % this.#scenario.callers.length;
      const worker = nth((this.#scenario.callers[who] ?? 0) % (this.#scenario.leads.length + 1));
      if (size === 0 && worker !== root) this.#bank.end?.(worker);
      else if (this.#open.has(who)) this.#end(who, luck);
      else this.#begin(who, { worker, size, luck });
      this.#bank.check?.();
    }
    return this;
  }

  #begin(who: number, { worker, size, luck }: { worker: RunId; size: number; luck: number }): void {
    this.#count += 1;
    const attempt = `attempt-${this.#count}`;
    const ask = {
      inputTokens: size % 200,
      outputTokens: 2 * size + 1,
      minOutputTokens: 1 + (luck % 3),
      price,
      unpriced: "refuse",
      landing: luck % 5 === 0,
    } as const;
    const lost = this.#lost.get(who);
    const call = lost ? { ...lost, attempt } : { run: worker, step: this.#count, attempt, ask };
    const output = this.#bank.begin(call);
    if (output !== null) this.#open.set(who, { call, output });
  }

  /** The provider bills in any case; the report may be lost. */
  #end(who: number, luck: number): void {
    const { call, output } = this.#open.get(who) ?? {};
    if (!call || output === undefined) return;
    this.#open.delete(who);
    this.#lost.delete(who);
    const part = (whole: number): number => (luck % 2 === 0 ? whole : Math.floor((whole * luck) / 20));
    const usage = { input: part(call.ask.inputTokens), output: part(output) };
    this.#bill(call.run, usage);
    if (luck === 1) this.#lost.set(who, call);
    else if (luck === 3) this.#bank.settle(call, { input: -1_000_000, output: Number.NaN });
    else if (luck === 5) this.#bank.settle(call, null);
    else this.#bank.settle(call, usage);
  }

  #bill(who: RunId, usage: Usage): void {
    const { budgets, treeBudget } = this.#scenario;
    for (let each: RunId | undefined = who; each; each = this.#parentOf.get(each)) {
      const index = each === root ? 0 : [...this.#parentOf.keys()].indexOf(each) + 1;
      this.#add(each, budgets[index] ?? {}, usage);
    }
    this.#add(null, treeBudget, usage);
  }

  #add(account: RunId | null, { maxTokens, maxCostUsd }: ExecutionBudget, usage: Usage): void {
    const before = this.#bills.get(account) ?? { tokens: 0, costMicros: 0 };
    const bill = {
      tokens: before.tokens + Usage.tokens(usage),
      costMicros: before.costMicros + Usage.cost(usage, price),
    };
    this.#bills.set(account, bill);
    this.#compare(bill.tokens, maxTokens);
    this.#compare(bill.costMicros, maxCostUsd === undefined ? undefined : Money.cap(maxCostUsd));
  }

  #compare(bill: number, cap: number | undefined): void {
    if (cap === undefined) return;
    if (bill > cap) this.worst = Math.max(this.worst, cap === 0 ? 1 : bill / cap - 1);
    if (bill === cap && bill > 0) this.exact += 1;
  }
}
