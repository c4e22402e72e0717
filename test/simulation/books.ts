import {
  ChatMessage,
  Usage,
  type Json,
  type Model,
  type ModelCall,
  ModelError,
  type ModelRequest,
} from "#kernel";
import { inputBound } from "#models";
import { currentScope } from "#runtime";
import type { Chance } from "./chance.ts";
import { price } from "./doubles.ts";
import type { Attempt } from "./crashing-engine.ts";
import type { Stage } from "./stage.ts";

/** One completed call of the provider, whether or not its answer was received. */
export interface BillEntry {
  readonly tree: string;
  readonly run: string;
  /** The attempt that made it. */
  readonly attempt: string;
  readonly step: string;
  readonly usage: Usage;
  readonly tokens: number;
  readonly cost: number;
}

/** A call that has begun and not ended. */
interface Flight {
  readonly tree: string;
  readonly run: string;
  readonly signal: AbortSignal;
  readonly attempt: Attempt;
}

/** The behaviour of the provider and the tools. */
export interface Behaviour {
  readonly chance: Chance;
  /** Probability that a call fails, or is answered without usage. */
  readonly faults: number;
}

type Fault = "refused" | "cut" | "hangs" | "no usage" | "nonsense";

/** The independent books: calls of models and tools, as seen by the other side. */
export class Books {
  readonly bill: BillEntry[] = [];
  /** The sum of the bill of all trees. */
  billedTokens = 0;
  /** By tree: the sum of its bill. */
  readonly #billed = new Map<string, { readonly tokens: number; readonly cost: number }>();
  /** The input tokens of each prompt that was sent. */
  readonly #inputs = new Map<string, number>();
  /** By effect key: every delivery. */
  readonly deliveries = new Map<string, { readonly tool: string; count: number }>();
  /** By the agent's order, which is unique: the keys under which it was delivered. */
  readonly keys = new Map<string, Set<string>>();
  readonly #flights = new Set<Flight>();
  readonly #stage: Stage;
  readonly #behaviour: Behaviour;
  /** Called when something begins. */
  onBegin: (begun: { readonly tree: string; readonly run: string; readonly step: string }) => void = () =>
    undefined;

  constructor(stage: Stage, behaviour: Behaviour) {
    this.#stage = stage;
    this.#behaviour = behaviour;
  }

  readonly model: Model = {
    id: "provider",
    price,
    maxOutputTokens: 200,
    generate: (request, call) => this.#generate(request, call),
  };

  /** Records a tool call. */
  async deliver(tool: string, key: string, signal: AbortSignal, order: Json = null): Promise<void> {
    await this.#trackCall(signal, async () => {
      await this.#stage.happens(`effect ${tool}`, () => {
        const known = this.deliveries.get(key) ?? { tool, count: 0 };
        known.count += 1;
        this.deliveries.set(key, known);
        const ordered = JSON.stringify(order);
        this.keys.set(ordered, (this.keys.get(ordered) ?? new Set()).add(key));
      });
    });
  }

  /** Returns the bill of a tree so far. */
  getBill(tree: string): { readonly tokens: number; readonly cost: number } {
    return this.#billed.get(tree) ?? nothing;
  }

  #charge(entry: BillEntry): void {
    this.bill.push(entry);
    this.billedTokens += entry.tokens;
    const { tokens, cost } = this.getBill(entry.tree);
    this.#billed.set(entry.tree, { tokens: tokens + entry.tokens, cost: cost + entry.cost });
  }

  /** Returns the runs of a tree with work in flight that was not aborted. */
  inFlight(tree: string): ReadonlySet<string> {
    const runs = new Set<string>();
    for (const flight of this.#flights) {
      if (flight.attempt.life.isOver) this.#flights.delete(flight);
      else if (flight.tree === tree && !flight.signal.aborted) runs.add(flight.run);
    }
    return runs;
  }

  async #generate(request: ModelRequest, { signal }: ModelCall): ReturnType<Model["generate"]> {
    const { chance, faults } = this.#behaviour;
    const fault = chance.is(faults)
      ? chance.pickOne<Fault>("refused", "cut", "hangs", "no usage", "nonsense")
      : null;
    const used: Usage = {
      input: this.#countInput(request.messages, chance.pickBetween(1, inputBound(request.messages))),
      output: chance.pickBetween(0, request.maxOutputTokens),
    };
    return this.#trackCall(signal, async (entry) => {
      await this.#stage.happens("model", () => {
        if (fault !== "refused") this.#charge({ ...entry, ...figures(used) });
      });
      if (fault === "hangs") await this.#stage.crashingEngine.survive(this.#stage.world.pass(3_600_000));
      else if (chance.is(0.3))
        await this.#stage.crashingEngine.survive(this.#stage.world.pass(chance.pickBetween(1, 2_000)));
      if (signal.aborted) throw signal.reason;
      if (fault === "refused")
        throw new ModelError({ kind: "rate-limit", message: "slow down", unbilled: true });
      if (fault === "cut") throw new ModelError({ kind: "server-error", message: "cut" });
      const usage = fault === "no usage" ? null : fault === "nonsense" ? { input: -1, output: NaN } : used;
      return { message: ChatMessage.assistant("said"), usage, finishReason: "stop" };
    });
  }

  /** Counts the same prompt like the last time, as a provider does: estimates rely on that. */
  #countInput(messages: ModelRequest["messages"], drawn: number): number {
    const prompt = JSON.stringify(messages);
    const tokens = this.#inputs.get(prompt) ?? drawn;
    this.#inputs.set(prompt, tokens);
    return tokens;
  }

  async #trackCall<T>(
    signal: AbortSignal,
    fly: (entry: Pick<BillEntry, "tree" | "run" | "attempt" | "step">) => Promise<T>,
  ): Promise<T> {
    const scope = currentScope();
    const { attempt } = this.#stage.crashingEngine;
    if (!scope || !attempt) throw new Error("a call from nowhere");
    const flight: Flight = { tree: scope.treeId, run: scope.runId, signal, attempt };
    this.#flights.add(flight);
    // A stalled execution may still use a grant from before another one took over.
    if (!attempt.life.isOver) this.onBegin({ ...flight, step: attempt.step });
    try {
      return await fly({ tree: flight.tree, run: flight.run, attempt: attempt.id, step: attempt.step });
    } finally {
      this.#flights.delete(flight);
    }
  }
}

const nothing = { tokens: 0, cost: 0 };

const figures = (usage: Usage): Pick<BillEntry, "usage" | "tokens" | "cost"> => ({
  usage,
  tokens: Usage.tokens(usage),
  cost: Usage.cost(usage, price),
});
