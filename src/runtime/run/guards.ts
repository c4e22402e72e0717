import type {
  ContentBlock,
  EventPayloads,
  Guardrail,
  GuardrailDecision,
  GuardrailScope,
  Json,
  StepScope,
} from "#kernel";
import { messageOf } from "./tool-outcome.ts";
import { within } from "./within.ts";
import type { ModelHost } from "./model-host.ts";

const defaultTimeoutS = 30;

/** One of a guardrail's methods. */
export type GuardHook = Exclude<keyof Guardrail, "name" | "timeoutS">;

/** Something a guardrail wants to remember for the turn. */
export interface GuardNote {
  readonly guardrail: string;
  readonly note: Json;
}

/** What the journal keeps of a look; absent where nothing was said. */
export interface Heard {
  readonly trips: readonly EventPayloads["guardrail.trip"][];
  readonly notes: readonly GuardNote[];
}

/** What came of a look. */
export interface Look {
  /** The strictest word, and who said it. */
  readonly kind: GuardrailDecision["kind"];
  readonly guardrail: string;
  readonly reason: string;
  readonly warnings: readonly string[];
  /** What a result was changed to; undefined: nothing. */
  readonly content: readonly ContentBlock[] | undefined;
  readonly heard: Heard | undefined;
}

type Said = GuardrailDecision | Promise<GuardrailDecision> | undefined;

/** Shows a guardrail what it looks at; of a result, what those before have made of it. */
export type Looking = (
  guardrail: Guardrail,
  scope: GuardrailScope,
  content: readonly ContentBlock[] | undefined,
) => Said;

/** Where a look happens: inside a step. */
export interface LookPlace {
  /** Names it in the turn: looked at again, it counts once. */
  readonly key: string;
  readonly scope: StepScope;
  readonly nonce: string;
  /** Of a guardrail that fails: is that passed over? */
  readonly failing: "allow" | "block";
  /** Must the step end, whatever a guardrail made of that? */
  readonly mustStop: () => boolean;
}

const strictness = { allow: 0, warn: 1, block: 2, halt: 3 } as const;
const kinds: ReadonlySet<unknown> = new Set(Object.keys(strictness));

/** The guardrails of one execution, and what they have noted in the turn. */
export class Guards {
  readonly #guardrails: readonly Guardrail[];
  readonly #notes = new Map<string, readonly GuardNote[]>();

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

  /** Takes in what a look in the journal has left. */
  learn(key: string, heard: Heard | undefined): void {
    if (heard && heard.notes.length > 0) this.#notes.set(key, heard.notes);
  }

  /** Everybody looks, one after the other; each sees what those before made of a result. Null: the step must end. */
  async look(host: ModelHost, hook: GuardHook, looking: Looking, place: LookPlace): Promise<Look | null> {
    this.#notes.delete(place.key);
    const trips: EventPayloads["guardrail.trip"][] = [];
    let strictest: Pick<Look, "kind" | "guardrail" | "reason"> = { kind: "allow", guardrail: "", reason: "" };
    let content: Look["content"];
    for (const guardrail of this.#guardrails) {
      if (guardrail[hook] === undefined) continue;
      const shown = content;
      const said = await this.#ask(host, guardrail, (scope) => looking(guardrail, scope, shown), place);
      if (place.mustStop()) return null;
      if (said.kind === "allow") {
        content = said.content ?? content;
        if (said.failure !== undefined) trips.push(tripOf(guardrail, "allow", said.failure));
        continue;
      }
      const { kind, reason } = said;
      trips.push(tripOf(guardrail, kind, reason));
      if (strictness[kind] > strictness[strictest.kind])
        strictest = { kind, guardrail: guardrail.name, reason };
      if (kind === "halt") break;
    }
    const notes = this.#notes.get(place.key) ?? [];
    const heard = trips.length + notes.length > 0 ? { trips, notes } : undefined;
    const warnings = trips.filter(({ decision }) => decision === "warn").map(({ reason }) => reason);
    return { ...strictest, warnings, content, heard };
  }

  async #ask(
    { clock, agentId, scope: { runId } }: ModelHost,
    { name, timeoutS = defaultTimeoutS }: Guardrail,
    ask: (scope: GuardrailScope) => Said,
    { key, scope, nonce, failing }: LookPlace,
  ): Promise<GuardrailDecision & { readonly failure?: string }> {
    const notes = this.notes.filter((noted) => noted.guardrail === name).map(({ note }) => note);
    // Noted in the same breath as it is said, so that calls made side by side see each other.
    const take = (decision: GuardrailDecision | undefined): GuardrailDecision => {
      if (!decision || !kinds.has(decision.kind)) throw new TypeError("it said nothing clear");
      const { note } = decision;
      if (note !== undefined)
        this.#notes.set(key, [...(this.#notes.get(key) ?? []), { guardrail: name, note }]);
      return decision;
    };
    const late = (): Error => new Error(`no word after ${timeoutS} s`);
    try {
      return await within(clock, { ms: timeoutS * 1000, signal: scope.signal, late }, async ({ signal }) => {
        const said = ask({ ...scope, signal, agentId, runId, notes, nonce });
        return said instanceof Promise ? take(await said) : take(said);
      });
    } catch (error) {
      const failure = `it failed: ${messageOf(error)}`;
      return failing === "block" ? { kind: "block", reason: failure } : { kind: "allow", failure };
    }
  }
}

const tripOf = (
  { name: guardrail }: Guardrail,
  decision: GuardrailDecision["kind"],
  reason: string,
): EventPayloads["guardrail.trip"] => ({ guardrail, reason, decision });
