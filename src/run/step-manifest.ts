// Manifests of steps: the prompt and the response of each model call and tool call.
//
// Job: create a `StepManifest` of a call, and write it with the texts that the store does not have yet. Neighbours:
// model-calls and tool-step call it at the end of a closure; run-session knows which messages are entries; the store
// seals its data. `prompt-reader` of the runtime layer reads it.
//
// Invariants:
// 1. It is written inside the closure, before the step is journaled: an execution that ends after its step is
//    journaled, or is suspended there, loses nothing. A call whose step was never journaled has a manifest of its own
//    attempt.
// 2. It never fails the run: a write that fails or takes too long loses only this manifest.
// 3. It names a message as an entry only if the store has that entry. Any other message is written as a text: its turn
//    may be dropped before the entry is written.
// 4. A message is hashed and sent once per execution, for any number of prompts. A prompt that begins like the last one
//    is written as the difference to it. So the cost of a run grows linearly with its length.
import { createHash, hash } from "node:crypto";
import {
  AttemptId,
  type ChatMessage,
  Json,
  type Clock,
  type HistoryRetention,
  type ManifestStore,
  type ManifestText,
  type Labels,
  type Model,
  type ModelResponse,
  type ManifestPart,
  type PartRole,
  type RunScope,
  type StepAttempt,
  type StepDecision,
  type StepId,
  type StepManifest,
  type ToolDescription,
  type ToolResult,
} from "#kernel";
import { withTimeout } from "#base";
import { estimateTokens } from "#models";
import { shownLabels, type PartOrigins } from "./part-origins.ts";
import type { RunSession } from "./run-session.ts";

/** Maximum time that a step waits for its manifest to be written. */
const maxWriteMs = 2_000;
/** The part of it in which the store must have the messages of the run. */
const maxFlushMs = 1_000;
/** Maximum characters of a stored text. */
const maxTextSize = 1_000_000;
/** Maximum number of base manifests that a reader must follow. */
const maxBases = 20;

/** The attempt of agent code. It is part of its run's execution, so it has no attempts of its own. */
const onlyAttempt = AttemptId.of("run");

/** The run whose steps are recorded. */
interface StepRecorderOptions {
  /** Null: nothing is recorded. */
  readonly store: ManifestStore | null;
  readonly scope: RunScope;
  readonly retention: HistoryRetention;
  readonly clock: Clock;
  readonly session: Pick<RunSession, "entryOf" | "flush" | "hasUnwritten">;
  readonly origins: Pick<PartOrigins, "getOrigin">;
}

/** A model call that was made. */
interface RecordedModelCall {
  readonly step: StepId;
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  /** The messages that are not stored. */
  readonly ephemeral: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
  /** Whether the answer is the run's own. The prompts of a judge or an embedder are no beginning of its next prompt. */
  readonly isOwn: boolean;
  /** The attempts that passed the gate, with their start times. */
  readonly attempts: readonly Omit<StepAttempt, "at">[];
  readonly began: readonly number[];
  /** Absent: the call failed. */
  readonly response: ModelResponse | undefined;
  /** The decisions of middleware about it. Default: none. */
  readonly decisions?: readonly StepDecision[] | undefined;
}

/** A tool call that was made. */
interface RecordedToolCall {
  readonly step: StepId;
  readonly tool: string;
  readonly input: Json;
  readonly result: ToolResult;
  readonly attempt: StepAttempt;
  /** The labels of the result. */
  readonly brings: Labels;
  /** The decisions of middleware about it. Default: none. */
  readonly decisions?: readonly StepDecision[] | undefined;
}

/** A content with its part. */
interface RecordedPart {
  readonly part: ManifestPart;
  /** Returns the text to store. Null: it is an entry, or is not stored. */
  readonly text: () => string | null;
}

interface WrittenPrompt {
  readonly step: StepId;
  readonly attempt: AttemptId;
  readonly parts: readonly ManifestPart[];
  readonly bases: number;
}

/** Records the steps of one execution of a run. */
export class StepRecorder {
  readonly #options: StepRecorderOptions;
  readonly #parts = new WeakMap<object, RecordedPart>();
  /** The hashes of texts that this execution has written. */
  readonly #written = new Set<string>();
  #tools: readonly ToolDescription[] = [];
  #last: WrittenPrompt | null = null;
  #noted: RecordedToolCall[] = [];

  constructor(options: StepRecorderOptions) {
    this.#options = options;
  }

  async keepModelCall(call: RecordedModelCall): Promise<void> {
    if (!this.#options.store || call.attempts.length === 0) return;
    await this.#limit(maxWriteMs, async () => {
      if (this.#options.session.hasUnwritten)
        await this.#limit(maxFlushMs, () => this.#options.session.flush());
      await this.#writeModelCall(call);
    });
  }

  async #writeModelCall(call: RecordedModelCall): Promise<void> {
    const { step, model, messages, tools, isOwn, response } = call;
    for (const message of call.ephemeral) this.#parts.set(message, this.#recordMessage(message, "ephemeral"));
    const system = messages[0]?.role === "system" ? 1 : 0;
    const prompt = [
      ...messages.slice(0, system).map((message) => this.#partOf(message)),
      ...(tools.length > 0 ? [this.#toolsOf(tools)] : []),
      ...messages.slice(system).map((message) => this.#partOf(message)),
    ];
    const parts = prompt.map(({ part }) => part);
    const answer = response ? [this.#partOf(response.message)] : [];
    const shrunk = response?.shrunk;
    const given: StepManifest = {
      kind: "model",
      name: model.id,
      attempts: attemptsOf(call),
      ...(model.price && { price: model.price }),
      ...(response && { finish: response.finishReason }),
      ...this.#sessionOf(parts),
      promptHash: hashPrompt(parts),
      ...this.#shorten(parts),
      answer: answer.map(({ part }) => part),
      decisions: [
        ...(call.decisions ?? []),
        ...(shrunk ? [{ by: "budget", layer: "gate", decision: `less output: ${shrunk}` } as const] : []),
      ],
    };
    const bases = given.base ? (this.#last?.bases ?? 0) + 1 : 0;
    const attempt = await this.#write(step, given, [...prompt, ...answer]);
    if (attempt && isOwn) this.#last = { step, attempt, parts, bases };
  }

  /** Queues a call of a tool that is agent code. The next closure writes it, because agent code is replayed. */
  noteRunTool(call: Omit<RecordedToolCall, "attempt">, { at, ms }: Pick<StepAttempt, "at" | "ms">): void {
    if (this.#options.store) this.#noted.push({ ...call, attempt: { attempt: onlyAttempt, at, ms } });
  }

  /** Drops the queued calls: the next step was executed before, and its closure has written them. */
  dropNoted(): void {
    this.#noted = [];
  }

  /** Writes the queued calls. */
  async writeNoted(): Promise<void> {
    const noted = this.#noted;
    this.#noted = [];
    await Promise.all(noted.map((call) => this.keepToolCall(call)));
  }

  async keepToolCall({
    step,
    tool,
    input,
    result,
    attempt,
    brings,
    decisions = [],
  }: RecordedToolCall): Promise<void> {
    if (!this.#options.store) return;
    const prompt = this.#record("input", input);
    const answer = this.#record("result", Json.of(result), shownLabels(brings));
    const manifest: StepManifest = {
      kind: "tool",
      name: tool,
      attempts: [attempt],
      prompt: [prompt.part],
      promptHash: hashPrompt([prompt.part]),
      answer: [answer.part],
      decisions,
    };
    await this.#limit(maxWriteMs, () => this.#write(step, manifest, [prompt, answer]));
  }

  /** Writes a manifest. Returns its newest attempt. Undefined: nothing was written. */
  async #write(
    step: StepId,
    manifest: StepManifest,
    used: readonly RecordedPart[],
  ): Promise<AttemptId | undefined> {
    const { store, scope, retention } = this.#options;
    const last = manifest.attempts.at(-1);
    if (!store || !last) return undefined;
    const texts = this.#newTexts(used);
    const record = {
      runId: scope.runId,
      stepId: step,
      attempt: last.attempt,
      at: manifest.attempts[0]?.at ?? last.at,
      isPermanent: retention === "permanent",
      body: Json.of(manifest),
    };
    await store.put({ tenantId: scope.tenantId }, record, texts);
    for (const { hash: known } of texts) this.#written.add(known);
    return last.attempt;
  }

  /** Waits for a write for a limited time. Its failure has no effect on the run. */
  async #limit(ms: number, write: () => Promise<unknown>): Promise<void> {
    const limit = { clock: this.#options.clock, ms, bestEffort: true, onTimeout: () => undefined };
    await withTimeout<unknown>(limit, write).catch(() => undefined);
  }

  #newTexts(used: readonly RecordedPart[]): readonly ManifestText[] {
    const texts = new Map<string, string>();
    for (const { part, text } of used) {
      if (this.#written.has(part.hash) || texts.has(part.hash)) continue;
      const body = text();
      if (body !== null) texts.set(part.hash, body);
    }
    return [...texts].map(([name, text]) => ({ hash: name, text }));
  }

  #partOf(message: ChatMessage): RecordedPart {
    const known = this.#parts.get(message);
    if (known) return known;
    const made = this.#recordMessage(message);
    this.#parts.set(message, made);
    return made;
  }

  #recordMessage(message: ChatMessage, notStored?: ManifestPart["notStored"]): RecordedPart {
    const entry = notStored ? undefined : this.#options.session.entryOf(message);
    const tokens = estimateTokens([message]);
    const origin = this.#options.origins.getOrigin(message);
    return this.#record(message.role, Json.of(message), { tokens, entry, notStored, ...origin });
  }

  /** Returns the part of the tool list. The list is created for each call, usually of the same tools. */
  #toolsOf(tools: readonly ToolDescription[]): RecordedPart {
    const isSame = tools.length === this.#tools.length && tools.every((tool, n) => tool === this.#tools[n]);
    const list = isSame ? this.#tools : tools;
    this.#tools = list;
    const known = this.#parts.get(list);
    if (known) return known;
    const shown = list.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const made = this.#record("tools", Json.of(shown), { tokens: estimateTokens([], tools) });
    this.#parts.set(list, made);
    return made;
  }

  #record(
    role: PartRole,
    content: Json,
    { tokens, entry, from, labels, ...given }: Partial<Omit<ManifestPart, "role" | "hash" | "size">> = {},
  ): RecordedPart {
    const { retention } = this.#options;
    const text = JSON.stringify(content);
    const unfit = retention === "none" ? "retention" : text.length > maxTextSize ? "too-large" : undefined;
    const notStored = given.notStored ?? unfit;
    const isText = entry === undefined && notStored === undefined;
    const part: ManifestPart = {
      role,
      hash: hash("sha256", text, "base64url"),
      size: text.length,
      tokens: tokens ?? Math.ceil(text.length / 4),
      ...(entry !== undefined && { entry }),
      ...(entry === undefined && notStored && { notStored }),
      ...(from && { from }),
      ...(labels && { labels }),
    };
    return { part, text: () => (isText ? JSON.stringify(content) : null) };
  }

  /** Returns the conversation that the parts' entries belong to. */
  #sessionOf(parts: readonly ManifestPart[]): Pick<StepManifest, "session"> {
    const { sessionId: id, userId } = this.#options.scope;
    return parts.some(({ entry }) => entry !== undefined) ? { session: { id, userId } } : {};
  }

  /** Leaves out the beginning that is equal to the last prompt. */
  #shorten(parts: readonly ManifestPart[]): Pick<StepManifest, "prompt" | "base"> {
    const last = this.#last;
    if (!last || last.bases >= maxBases) return { prompt: parts };
    let same = 0;
    while (same < parts.length && parts[same] === last.parts[same]) same += 1;
    if (same === 0) return { prompt: parts };
    const { step, attempt } = last;
    return { prompt: parts.slice(same), base: { step, attempt, parts: same } };
  }
}

function attemptsOf({ attempts, began }: RecordedModelCall): readonly StepAttempt[] {
  return attempts.map(({ attempt, ms, usage, error }, index) => {
    const made = { attempt, at: began[index] ?? 0, ms, usage };
    return error ? Object.assign(made, { error }) : made;
  });
}

function hashPrompt(parts: readonly ManifestPart[]): string {
  const sum = createHash("sha256");
  for (const part of parts) sum.update(part.hash);
  return sum.digest("base64url");
}
