import type { Json, ToolResult } from "#kernel";
import { fingerprint } from "#base";
import type { RepetitionLimits } from "./repeated-text.ts";

/** The decision about a call in a loop. */
export type LoopDecision =
  | { readonly kind: "allow" }
  | { readonly kind: "warn" | "block" | "halt"; readonly reason: string };

/** Thresholds of loop detection. Each is a number of repetitions. */
export interface LoopLimits {
  /** The same call failed. */
  readonly sameCall: { readonly warn: number; readonly block: number };
  /** The same tool failed, or a call of it was blocked, with any arguments. */
  readonly sameTool: { readonly warn: number; readonly halt: number };
  /** A read-only call gave the same result. */
  readonly sameResult: { readonly warn: number; readonly block: number };
  /** Two calls alternated. */
  readonly pingPong: { readonly warn: number; readonly halt: number };
  /** The end of one answer repeats a block of text: it is cut off. Absent: never. */
  readonly sameText?: RepetitionLimits | undefined;
}

/** Enough for honest retries, few enough to limit the cost of a loop. */
export const loopLimits: LoopLimits = {
  sameCall: { warn: 2, block: 5 },
  sameTool: { warn: 3, halt: 8 },
  sameResult: { warn: 2, block: 5 },
  pingPong: { warn: 3, halt: 6 },
  sameText: { characters: 8_000, times: 8 },
};

/** A repeated result and its count. */
interface RepeatedCall {
  readonly result: string;
  readonly times: number;
}

/** The state of loop detection, as plain data. */
export interface LoopCounts {
  readonly failedCalls: readonly (readonly [string, number])[];
  readonly failedTools: readonly (readonly [string, number])[];
  readonly blockedTools: readonly (readonly [string, number])[];
  readonly results: readonly (readonly [string, RepeatedCall])[];
  readonly recent: readonly string[];
}

const nothing: LoopCounts = { failedCalls: [], failedTools: [], blockedTools: [], results: [], recent: [] };

/**
 * Detects an agent that repeats itself. It is state of one run, updated in the order of its journal, so a replay
 * decides the same.
 */
export class LoopDetection {
  readonly #limits: LoopLimits;
  readonly #failedCalls: Map<string, number>;
  readonly #failedTools: Map<string, number>;
  readonly #blockedTools: Map<string, number>;
  readonly #results: Map<string, RepeatedCall>;
  /** The newest calls, enough to detect the longest ping-pong. */
  #recent: readonly string[];

  /** Continues from a given state. */
  constructor(limits: LoopLimits = loopLimits, noticed: LoopCounts = nothing) {
    this.#limits = limits;
    this.#failedCalls = new Map(noticed.failedCalls);
    this.#failedTools = new Map(noticed.failedTools);
    this.#blockedTools = new Map(noticed.blockedTools);
    this.#results = new Map(noticed.results);
    this.#recent = noticed.recent;
  }

  /** The limits at which an answer is cut off. Undefined: never. */
  get sameText(): RepetitionLimits | undefined {
    return this.#limits.sameText;
  }

  /** The present state. */
  get noticed(): LoopCounts {
    const results = [...this.#results].map(([call, seen]) => [call, { ...seen }] as const);
    return {
      failedCalls: [...this.#failedCalls],
      failedTools: [...this.#failedTools],
      blockedTools: [...this.#blockedTools],
      results,
      recent: this.#recent,
    };
  }

  /** Decides whether a call may be made. */
  checkCall(tool: string, input: Json): LoopDecision {
    const call = `${tool} ${JSON.stringify(input)}`;
    const { sameCall, sameTool, sameResult, pingPong } = this.#limits;
    const rounds = this.#recent.at(-2) === call ? this.#rounds() : 0;
    const toolFailures = this.#failedTools.get(tool) ?? 0;
    const toolBlocks = this.#blockedTools.get(tool) ?? 0;
    if (rounds >= pingPong.halt) return { kind: "halt", reason: `two calls alternated ${rounds} times` };
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

  /** Counts a blocked call. It is not a failure, but counts towards the halt of its tool. */
  countBlocked(tool: string, input: Json): void {
    this.#remember(tool, input);
    this.#count(this.#blockedTools, tool, true);
  }

  /** Counts the result of a call. Returns a decision if the model should be warned. */
  countResult(
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
      return { kind: "warn", reason: `these two calls alternated ${rounds} times` };
    return { kind: "allow" };
  }

  #remember(tool: string, input: Json): string {
    const call = `${tool} ${JSON.stringify(input)}`;
    this.#recent = [...this.#recent.slice(-2 * this.#limits.pingPong.halt), call];
    return call;
  }

  /** Counts a failure. A success clears only the count of that call. */
  #count(counts: Map<string, number>, key: string, hasFailed: boolean): number {
    const count = hasFailed ? (counts.get(key) ?? 0) + 1 : 0;
    if (count === 0) counts.delete(key);
    else counts.set(key, count);
    return count;
  }

  #repeats(call: string, result: ToolResult): number {
    if (result.isError) return 0;
    // The tool's own value, independent of changes by guardrails and layers.
    const print = fingerprint(JSON.stringify(result.value ?? result.content));
    const known = this.#results.get(call);
    const times = known?.result === print ? known.times + 1 : 1;
    this.#results.set(call, { result: print, times });
    return times;
  }

  /** Returns how often two different calls have alternated up to now. */
  #rounds(): number {
    const [last, other] = [this.#recent.at(-1), this.#recent.at(-2)];
    if (other === undefined || other === last) return 0;
    const newest = this.#recent.toReversed();
    const end = newest.findIndex((call, index) => call !== (index % 2 === 0 ? last : other));
    return Math.floor((end < 0 ? newest.length : end) / 2);
  }
}
