import * as fc from "fast-check";
import { expect, test } from "vitest";
import { keysOf, StepId, type Priority, type RunId } from "#kernel";
import { Ledger, type Gate, type WokenCall } from "#ledger";
import { attempt, price, root, run, Tree } from "./tree.ts";

const names = ["root", "a", "b", "c", "d", "e"] as const;
type Name = (typeof names)[number];

/** A tree whose runs have several calls in flight, some with their own limits. */
class Market {
  readonly tree = new Tree({ maxAgents: 6, treeBudget: { maxTokens: 400, maxCostUsd: 0.0007 } });
  /** Calls whose run was woken to retry and has not. */
  readonly #told: WokenCall[] = [];
  /** Waiting calls whose run was not woken. */
  readonly #waits = new Map<StepId, RunId>();
  readonly #asks = new Map<string, number>();
  #attempts = 0;

  constructor() {
    this.tree.admit("a");
    this.tree.admit("b", { budget: { maxTokens: 200 } });
    this.tree.admit("c", { parent: run("b") });
    this.tree.admit("d", { parent: run("b"), priority: "high" });
    this.tree.admit("e", { budget: { maxTurns: 6, maxCostUsd: 0.0004 } });
  }

  isAlive(name: Name): boolean {
    return this.tree.state.slots[run(name)] !== undefined;
  }

  /** Asks for a call of a step, or again for one that waits. */
  ask(of: RunId, step: StepId, outputTokens: number): Gate {
    this.#asks.set(step, outputTokens);
    const ask = {
      inputTokens: 10,
      outputTokens,
      minOutputTokens: 1,
      price,
      unpriced: "refuse",
      landing: false,
    } as const;
    const id = attempt(`attempt-${++this.#attempts}`);
    const epoch = { id: "1", order: null };
    const rest = { rerun: false, leaseIsFinal: false, timeoutMs: 50, waitsSince: null, at: this.tree.at };
    const gate = this.tree.do({ kind: "begin", run: of, step, attempt: id, epoch, ask, ...rest });
    if (gate.kind === "granted") expect(gate.outputTokens).toBeLessThanOrEqual(outputTokens);
    if (gate.kind === "waits") this.#wait(of, step);
    else this.#waits.delete(step);
    this.decide();
    return gate;
  }

  /** The step of a call that waits ends: its next execution asks for its calls again, from this one on. */
  #wait(of: RunId, step: StepId): void {
    this.#waits.set(step, of);
    const kept = this.#told.filter((call) => StepId.outer(call.step) !== StepId.outer(step));
    this.#told.splice(0, this.#told.length, ...kept);
  }

  /** The work of the host after each call on the tree. */
  decide(): void {
    const command = { takeBy: this.tree.at + 20, at: this.tree.at };
    const told = this.tree.do({ kind: "decideWaiting", ...command });
    for (const { step } of told) this.#waits.delete(step);
    this.#told.push(...told);
    this.check();
  }

  /** Lets a woken run retry. */
  answerOne(): boolean {
    const next = this.#told.shift();
    if (next && this.tree.state.slots[next.run])
      this.ask(next.run, next.step, this.#asks.get(next.step) ?? 1);
    return next !== undefined;
  }

  /** Settles the `index`-th open call, or loses it. */
  settle(index: number, share: number | null): boolean {
    const open = keysOf(this.tree.state.accounts).flatMap((of) =>
      (this.tree.state.accounts[of]?.attempts ?? []).flatMap((each) => (each.isUnused ? [] : [{ of, each }])),
    );
    const found = open[index % Math.max(1, open.length)];
    if (!found) return false;
    const { of, each } = found;
    const usage = share === null ? null : { input: 5, output: Math.floor(each.outputTokens * share) };
    this.tree.do({ kind: "settle", run: of, attempt: each.id, usage, at: this.tree.at });
    this.decide();
    return true;
  }

  check(): void {
    const { tree, accounts, pages, slots, doubts } = this.tree.state;
    const all = Object.values(accounts);
    for (const account of [tree.account, ...all]) {
      const { tokens, costMicros } = Ledger.spend(account);
      expect(tokens).toBeLessThanOrEqual(account.maxTokens ?? Infinity);
      expect(costMicros).toBeLessThanOrEqual(account.maxCostMicros ?? Infinity);
    }
    const open = all.flatMap(({ attempts }) => attempts);
    expect(tree.account.inFlight).toBe(open.length);
    expect(tree.account.reserved.tokens).toBe(open.reduce((sum, { ceiling }) => sum + ceiling.tokens, 0));
    const lined = Object.values(pages).flatMap((page) => page.flatMap(({ call }) => call?.step ?? []));
    for (const [step, of] of this.#waits) if (slots[of]) expect(lined).toContain(step);
    // A reservation whose call never reached a provider is not in doubt.
    expect(keysOf(doubts).filter((id) => id.startsWith("unused"))).toEqual([]);
    expect(lined.toSorted()).toEqual(
      all.flatMap(({ waiting }) => waiting.map(({ step }) => step)).toSorted(),
    );
  }

  /** Ends everything in flight, and lets every woken run continue. Returns the runs whose calls still wait. */
  quiesce(): readonly RunId[] {
    for (let round = 0; round < 1_000; round += 1) {
      if (this.answerOne() || this.settle(0, 0.5)) continue;
      this.tree.at += 100;
      const { inFlight } = this.tree.state.tree.account;
      this.tree.do({ kind: "expire", at: this.tree.at });
      this.decide();
      if (inFlight === 0) return this.#listWaiting();
    }
    throw new Error("it never rests");
  }

  #listWaiting(): readonly RunId[] {
    const { accounts } = this.tree.state;
    return keysOf(accounts).filter((of) => (accounts[of]?.waiting.length ?? 0) > 0);
  }
}

const name = fc.constantFrom(...names);
const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("ask" as const),
      name,
      step: fc.nat(2),
      inner: fc.nat(1),
      output: fc.integer({ min: 5, max: 120 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      index: fc.nat(9),
      share: fc.constantFrom(0, 0.3, 1, null),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("answer" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("time" as const), ms: fc.integer({ min: 1, max: 60 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("pause", "resume", "cancel", "release", "wait", "wake"),
      name,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("rank" as const),
      name,
      priority: fc.constantFrom<Priority>("low", "normal", "high"),
    }),
  },
);

function apply(market: Market, act: typeof action extends fc.Arbitrary<infer Action> ? Action : never): void {
  const { tree } = market;
  switch (act.do) {
    case "ask": {
      if (!market.isAlive(act.name)) return;
      const step = StepId.inner(StepId.of(run(act.name), "model", act.step), act.inner);
      return void market.ask(run(act.name), step, act.output);
    }
    case "settle":
      return void market.settle(act.index, act.share);
    case "answer":
      return void market.answerOne();
    case "time":
      tree.at += act.ms;
      tree.do({ kind: "expire", at: tree.at });
      return market.decide();
    case "rank":
      if (!market.isAlive(act.name)) return;
      tree.reprioritize(act.name, act.priority);
      return market.decide();
    case "pause":
    case "resume":
    case "cancel":
    case "release":
    case "wait":
    case "wake":
      if (!market.isAlive(act.name) || (act.name === "root" && act.do !== "wait" && act.do !== "wake"))
        return;
      if (act.do === "cancel") tree.cancel(act.name);
      else if (act.do === "wait") tree.wait(act.name, null);
      else tree.apply(act.do, act.name);
      return market.decide();
  }
}

/** Two calls of one step that do not fit together: each would take the other's reservation for ever. */
const twoCallsOfOneStep: Parameters<typeof apply>[1][] = [
  { do: "ask", name: "b", step: 0, inner: 0, output: 61 },
  { do: "ask", name: "d", step: 0, inner: 0, output: 58 },
  { do: "ask", name: "b", step: 1, inner: 0, output: 32 },
  { do: "settle", index: 0, share: 0 },
  { do: "ask", name: "b", step: 1, inner: 1, output: 56 },
];

test("3.10 in any sequence no limit is exceeded, and every wait ends unless its run is paused or cancelled", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      const market = new Market();
      for (const act of actions) apply(market, act);
      for (const of of market.quiesce()) {
        const slot = market.tree.state.slots[of];
        const isStopped =
          slot?.held || slot?.cancelled !== null || slot.phase === "parked" || slot.phase === "yielding";
        expect([of, slot?.phase, isStopped]).toEqual([of, slot?.phase, true]);
      }
      expect(market.tree.state.slots[root]).toBeDefined();
    }),
    { numRuns: 1_500, examples: [[twoCallsOfOneStep]] },
  );
});
