import {
  Labels,
  type AgentId,
  type Clock,
  type ContentBlock,
  type EventPayloads,
  type GuardedCall,
  type Guardrail,
  type GuardrailDecision,
  type GuardrailScope,
  type Json,
  type RunId,
  type StepScope,
  type Tool,
} from "#kernel";
import { errorMessage, withTimeout } from "#base";
import type { GuardHook } from "#tree";
import type { ReportFailure } from "./failures.ts";

const defaultTimeoutS = 30;

/** A note of a guardrail, kept for the turn. */
export interface GuardNote {
  readonly guardrail: string;
  readonly note: Json;
}

/** The part of a check that the journal keeps. Absent if no guardrail tripped or noted anything. */
export interface GuardrailLog {
  readonly trips: readonly EventPayloads["guardrail.trip"][];
  readonly notes: readonly GuardNote[];
}

/** The result of a check. */
export interface GuardrailResult {
  /** The strictest decision, and the guardrail that made it. */
  readonly kind: GuardrailDecision["kind"];
  readonly guardrail: string;
  readonly reason: string;
  readonly warnings: readonly string[];
  /** The changed content of a tool's result. Undefined if no guardrail changed it. */
  readonly content: readonly ContentBlock[] | undefined;
  readonly heard: GuardrailLog | undefined;
}

type Reply = GuardrailDecision | Promise<GuardrailDecision> | undefined;

/** The subject of a check. */
export interface GuardrailSubject {
  readonly hook: GuardHook;
  /** Calls one guardrail with the subject. `content`: a result's content, as changed by earlier guardrails. */
  readonly show: (
    guardrail: Guardrail,
    scope: GuardrailScope,
    content: readonly ContentBlock[] | undefined,
  ) => Reply;
  /** The decision for a guardrail that fails. Default: block. */
  readonly onFailure?: "allow" | "block";
}

/** A check inside a step. */
export interface GuardrailCheck extends GuardrailSubject {
  /** Identifies the check in the turn. A repeated check counts once. */
  readonly key: string;
  readonly clock: Clock;
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly scope: StepScope;
  readonly nonce: string;
  readonly report: ReportFailure;
  /** Whether the step must end, regardless of the guardrails' decisions. */
  readonly mustStop: () => boolean;
}

const strictness = { allow: 0, warn: 1, block: 2, halt: 3 } as const;
const allowed = { kind: "allow", guardrail: "", reason: "" } as const;
const kinds: ReadonlySet<unknown> = new Set(Object.keys(strictness));

/** The guardrails of one execution, and their notes in the turn. */
export class GuardrailRunner {
  readonly #guardrails: readonly Guardrail[];
  readonly #notes = new Map<string, readonly GuardNote[]>();
  readonly #reasons = new Set<string>();

  constructor(guardrails: readonly Guardrail[], before: readonly GuardNote[] = []) {
    this.#guardrails = guardrails;
    if (before.length > 0) this.#notes.set("", before);
  }

  has(hook: GuardHook): boolean {
    return this.#guardrails.some((guardrail) => guardrail[hook] !== undefined);
  }

  newTurn(): void {
    this.#notes.clear();
  }

  /** Everything noted in this turn. */
  get notes(): readonly GuardNote[] {
    return [...this.#notes.values()].flat();
  }

  /** Takes in the log of a check from the journal. */
  learn(key: string, { notes, trips }: GuardrailLog): void {
    if (notes.length > 0) this.#notes.set(key, notes);
    for (const { reason } of trips) this.#reasons.add(reason);
  }

  /** Whether a guardrail has given this reason in this execution. */
  hasReported(reason: string): boolean {
    return this.#reasons.has(reason);
  }

  /**
   * Calls the guardrails one after the other. Each sees a result as changed by the previous ones. Null: the step must
   * end.
   */
  async check(check: GuardrailCheck): Promise<GuardrailResult | null> {
    const { hook, key, show } = check;
    this.#notes.delete(key);
    const trips: EventPayloads["guardrail.trip"][] = [];
    let strictest: Pick<GuardrailResult, "kind" | "guardrail" | "reason"> = allowed;
    let content: GuardrailResult["content"];
    for (const guardrail of this.#guardrails) {
      if (guardrail[hook] === undefined) continue;
      const shown = content;
      const decision = await this.#ask(guardrail, (scope) => show(guardrail, scope, shown), check);
      if (check.mustStop()) return null;
      if (decision.kind === "allow") {
        content = decision.content ?? content;
        if (decision.failure !== undefined) trips.push(toTrip(guardrail, "allow", decision.failure));
        continue;
      }
      const { kind, reason } = decision;
      trips.push(toTrip(guardrail, kind, reason));
      if (strictness[kind] > strictness[strictest.kind])
        strictest = { kind, guardrail: guardrail.name, reason };
      if (kind === "halt") break;
    }
    const notes = this.#notes.get(key) ?? [];
    const heard = trips.length + notes.length > 0 ? { trips, notes } : undefined;
    const warnings = trips.filter(({ decision }) => decision === "warn").map(({ reason }) => reason);
    return { ...strictest, warnings, content, heard };
  }

  async #ask(
    { name, timeoutS = defaultTimeoutS }: Guardrail,
    ask: (scope: GuardrailScope) => Reply,
    { clock, agentId, runId, key, scope, nonce, report, mustStop, onFailure = "block" }: GuardrailCheck,
  ): Promise<GuardrailDecision & { readonly failure?: string }> {
    const notes = this.notes.filter((noted) => noted.guardrail === name).map(({ note }) => note);
    // The note is stored together with the decision, so that concurrent calls see each other's notes.
    const take = (decision: GuardrailDecision | undefined): GuardrailDecision => {
      if (!decision || !kinds.has(decision.kind))
        throw new TypeError("it returned no decision (expected allow, warn, block or halt)");
      const { note } = decision;
      if (note !== undefined)
        this.#notes.set(key, [...(this.#notes.get(key) ?? []), { guardrail: name, note }]);
      return decision;
    };
    const onTimeout = (): never => {
      throw new Error(`it returned no decision within ${timeoutS} s`);
    };
    const limit = { clock, ms: timeoutS * 1000, signal: scope.signal, onTimeout };
    try {
      return await withTimeout<GuardrailDecision>(limit, async ({ signal }) => {
        const reply = ask({ ...scope, signal, agentId, runId, notes, nonce });
        return reply instanceof Promise ? take(await reply) : take(reply);
      });
    } catch (error) {
      if (!mustStop()) report(`guardrail ${name}`, error);
      const failure = `guardrail ${name} failed: ${errorMessage(error)}`;
      return onFailure === "block" ? { kind: "block", reason: failure } : { kind: "allow", failure };
    }
  }
}

const toTrip = (
  { name: guardrail }: Guardrail,
  decision: GuardrailDecision["kind"],
  reason: string,
): EventPayloads["guardrail.trip"] => ({ guardrail, reason, decision });

/** Returns the fields of a tool call, without its input, that guardrails see. */
export const toGuardedTool = (tool: Tool): Omit<GuardedCall, "input"> => ({
  tool: tool.name,
  risk: tool.risk,
  brings: Labels.broughtBy(tool),
});
