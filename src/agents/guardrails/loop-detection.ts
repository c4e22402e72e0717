import type { Json, ToolResult } from "#kernel";
import { fingerprint } from "#base";
import type { RepetitionLimits } from "./repeated-text.ts";

/** What to do about a call that goes round in circles. */
export type LoopDecision =
  | { readonly kind: "allow" }
  | { readonly kind: "warn" | "block" | "halt"; readonly reason: string };

/** When to say something. Each is a number of repetitions. */
export interface LoopLimits {
  /** The same call failed. */
  readonly sameCall: { readonly warn: number; readonly block: number };
  /** The same tool failed, or a call of it was blocked, whatever it was asked. */
  readonly sameTool: { readonly warn: number; readonly halt: number };
  /** A read-only call gave the same result. */
  readonly sameResult: { readonly warn: number; readonly block: number };
  /** Two calls took turns. */
  readonly pingPong: { readonly warn: number; readonly halt: number };
  /** The end of one answer is a block of text, over and over: it is cut off. Absent: never. */
  readonly sameText?: RepetitionLimits | undefined;
}

/** Enough for honest retries, too few for a night's bill. */
export const loopLimits: LoopLimits = {
  sameCall: { warn: 2, block: 5 },
  sameTool: { warn: 3, halt: 8 },
  sameResult: { warn: 2, block: 5 },
  pingPong: { warn: 3, halt: 6 },
  sameText: { characters: 8_000, times: 8 },
};

/** A result that came again, and how often. */
interface Repeated {
  readonly result: string;
  readonly times: number;
}

/** What was noticed so far, as plain data. */
export interface Noticed {
  readonly failedCalls: readonly (readonly [string, number])[];
  readonly failedTools: readonly (readonly [string, number])[];
  readonly blockedTools: readonly (readonly [string, number])[];
  readonly results: readonly (readonly [string, Repeated])[];
  readonly recent: readonly string[];
}

const nothing: Noticed = { failedCalls: [], failedTools: [], blockedTools: [], results: [], recent: [] };

/**
 * Notices an agent that repeats itself. State of one run, fed in the order of its journal, so a replay decides alike.
 */
export class LoopDetection {
  readonly #limits: LoopLimits;
  readonly #failedCalls: Map<string, number>;
  readonly #failedTools: Map<string, number>;
  readonly #blockedTools: Map<string, number>;
  readonly #results: Map<string, Repeated>;
  /** The newest calls, enough to see the longest ping-pong. */
  #recent: readonly string[];

  /** Goes on from what another has noticed, where that is given. */
  constructor(limits: LoopLimits = loopLimits, noticed: Noticed = nothing) {
    this.#limits = limits;
    this.#failedCalls = new Map(noticed.failedCalls);
    this.#failedTools = new Map(noticed.failedTools);
    this.#blockedTools = new Map(noticed.blockedTools);
    this.#results = new Map(noticed.results);
    this.#recent = noticed.recent;
  }

  /** When an answer is cut off; undefined: never. */
  get sameText(): RepetitionLimits | undefined {
    return this.#limits.sameText;
  }

  /** All it has noticed. */
  get noticed(): Noticed {
    const results = [...this.#results].map(([call, seen]) => [call, { ...seen }] as const);
    return {
      failedCalls: [...this.#failedCalls],
      failedTools: [...this.#failedTools],
      blockedTools: [...this.#blockedTools],
      results,
      recent: this.#recent,
    };
  }

  /** May this call be made? */
  before(tool: string, input: Json): LoopDecision {
    const call = `${tool} ${JSON.stringify(input)}`;
    const { sameCall, sameTool, sameResult, pingPong } = this.#limits;
    const rounds = this.#recent.at(-2) === call ? this.#rounds() : 0;
    const toolFailures = this.#failedTools.get(tool) ?? 0;
    const toolBlocks = this.#blockedTools.get(tool) ?? 0;
    if (rounds >= pingPong.halt) return { kind: "halt", reason: `two calls took turns ${rounds} times` };
    if (toolFailures + toolBlocks >= sameTool.halt) {
      const blocked = toolBlocks > 0 ? `, and was blocked ${toolBlocks} times` : "";
      return { kind: "halt", reason: `${tool} failed ${toolFailures} times${blocked}` };
    }
    const failures = this.#failedCalls.get(call) ?? 0;
    if (failures >= sameCall.block) return { kind: "block", reason: `this call failed ${failures} times` };
    const repeats = this.#results.get(call)?.times ?? 0;
    if (repeats >= sameResult.block)
      return { kind: "block", reason: `this call gave the same result ${repeats} times` };
    return { kind: "allow" };
  }

  /** Counts a call that was not made because it was blocked: no failure, but a step towards the halt of its tool. */
  blocked(tool: string, input: Json): void {
    this.#remember(tool, input);
    this.#count(this.#blockedTools, tool, true);
  }

  /** What came of it, and whether the model should be told something. */
  after(
    tool: string,
    input: Json,
    { result, readOnly }: { readonly result: ToolResult; readonly readOnly: boolean },
  ): LoopDecision {
    const call = this.#remember(tool, input);
    const { sameCall, sameTool, sameResult, pingPong } = this.#limits;
    const rounds = this.#rounds();
    const failures = this.#count(this.#failedCalls, call, result.isError);
    const toolFailures = result.isError ? this.#count(this.#failedTools, tool, true) : 0;
    const repeats = readOnly ? this.#repeats(call, result) : 0;
    if (failures >= sameCall.warn) return { kind: "warn", reason: `this call has failed ${failures} times` };
    if (toolFailures >= sameTool.warn)
      return { kind: "warn", reason: `${tool} has failed ${toolFailures} times` };
    if (repeats >= sameResult.warn) return { kind: "warn", reason: `the same result ${repeats} times` };
    if (rounds >= pingPong.warn)
      return { kind: "warn", reason: `these two calls took turns ${rounds} times` };
    return { kind: "allow" };
  }

  #remember(tool: string, input: Json): string {
    const call = `${tool} ${JSON.stringify(input)}`;
    this.#recent = [...this.#recent.slice(-2 * this.#limits.pingPong.halt), call];
    return call;
  }

  /** A success clears the count of that call alone. */
  #count(counts: Map<string, number>, key: string, hasFailed: boolean): number {
    const count = hasFailed ? (counts.get(key) ?? 0) + 1 : 0;
    if (count === 0) counts.delete(key);
    else counts.set(key, count);
    return count;
  }

  #repeats(call: string, result: ToolResult): number {
    if (result.isError) return 0;
    // What the tool returned, whatever guardrails and layers have made of it for the model.
    const print = fingerprint(JSON.stringify(result.value ?? result.content));
    const known = this.#results.get(call);
    const times = known?.result === print ? known.times + 1 : 1;
    this.#results.set(call, { result: print, times });
    return times;
  }

  /** How many times two different calls have taken turns, up to now. */
  #rounds(): number {
    const [last, other] = [this.#recent.at(-1), this.#recent.at(-2)];
    if (other === undefined || other === last) return 0;
    const newest = this.#recent.toReversed();
    const end = newest.findIndex((call, index) => call !== (index % 2 === 0 ? last : other));
    return Math.floor((end < 0 ? newest.length : end) / 2);
  }
}
