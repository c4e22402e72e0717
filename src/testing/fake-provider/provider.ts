import { isJsonObject } from "#kernel";
import { toError } from "#base";
import { countFiles } from "./attached-files.ts";
import type { BillBook, BillEntry } from "./bill.ts";
import { chance, type Chance, digest } from "./chance.ts";
import type { ProviderAnswer } from "./provider-answer.ts";
import type { ProviderRequest } from "./provider-request.ts";
import type { ProviderScript } from "./provider-script.ts";
import { answerEmbeddings, embeddingsEndpoint } from "./embeddings.ts";
import { countPrompt, execute, type Execution } from "./execution.ts";
import { type Fault, type FaultKind, isBilled, isRefusal, toFault } from "./fault.ts";
import { PromptCache, type PromptCacheOptions } from "./prompt-cache.ts";
import { planReply, wholeReply, type Reply } from "./reply.ts";
import { anthropicMessages } from "./wire/anthropic-messages.ts";
import { openaiChat } from "./wire/openai-chat.ts";
import { openaiResponses } from "./wire/openai-responses.ts";
import { InvalidRequestError, type RefusalFacts, type WireFormat } from "./wire/wire-format.ts";

/** Dependencies of a provider. */
export interface ProviderSettings {
  readonly script: ProviderScript;
  readonly bill: BillBook;
  readonly now: () => number;
  readonly seed?: number | undefined;
  readonly faults?: { readonly rate: number; readonly kinds: readonly (Fault | FaultKind)[] } | undefined;
  readonly hiddenTokensPerMessage?: number | undefined;
  readonly toolPromptTokens?: number | undefined;
  readonly contextWindow?: number | undefined;
  readonly promptCache?: PromptCacheOptions | undefined;
}

/** An HTTP request. */
export interface RawRequest {
  /** Method and path. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The response, and the request if it could be parsed. */
export interface ProviderOutcome {
  readonly reply: Reply;
  readonly request: ProviderRequest | null;
}

type Arrival = Pick<BillEntry, "at" | "wire" | "model" | "key" | "run" | "streamed" | "files" | "fileBytes">;

interface AnsweredCall {
  readonly request: ProviderRequest;
  readonly arrival: Arrival;
  readonly answer: ProviderAnswer;
  readonly chance: Chance;
}

const nothing = {
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  writtenTokens: 0,
  reasoningTokens: 0,
  hiddenTokens: 0,
} as const;

/** Parses requests, calls the script, computes the answer and writes the bill. Independent of sockets. */
export class Provider {
  readonly #settings: ProviderSettings;
  readonly #formats: readonly WireFormat[] = [openaiChat, openaiResponses(), anthropicMessages];
  readonly #cache: PromptCache | null;
  /** Number of times each body was seen: a retry is a new draw. */
  readonly #seen = new Map<string, number>();
  readonly #unanswered = new Set<Arrival>();
  #closed = false;

  constructor(settings: ProviderSettings) {
    this.#settings = settings;
    this.#cache = settings.promptCache ? new PromptCache(settings.promptCache) : null;
  }

  /** Null if the provider was closed before the script had answered. */
  async handle(raw: RawRequest): Promise<ProviderOutcome | null> {
    if (raw.endpoint === embeddingsEndpoint) return { reply: this.#embed(raw), request: null };
    const format = this.#formats.find(({ endpoint }) => endpoint === raw.endpoint);
    if (!format) return { reply: unknownEndpoint(raw.endpoint), request: null };
    const arrival = this.#arrive(format, raw);
    let request: ProviderRequest;
    try {
      request = readBody(format, raw);
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      this.#settings.bill.append({ ...arrival, ...nothing, billed: false, outcome: "invalid-request" });
      return { reply: wholeReply(format.rejectInvalid(error)), request: null };
    }
    const { model, streamed } = request;
    const known = { ...arrival, model, streamed, ...countFiles(request) };
    this.#unanswered.add(known);
    const answer = await this.#ask(request);
    this.#unanswered.delete(known);
    if (this.#closed) return null;
    if (answer instanceof Error) return { request, reply: this.#failScript(format, known, answer) };
    return {
      request,
      reply: this.#reply(format, { request, arrival: known, answer, chance: this.#chance(raw) }),
    };
  }

  /** Bills, as unanswered, the requests for which the script has found no answer yet. */
  close(): void {
    this.#closed = true;
    for (const arrival of this.#unanswered) {
      this.#settings.bill.append({ ...arrival, ...nothing, billed: false, outcome: "unanswered" });
    }
    this.#unanswered.clear();
  }

  /** Faults and hidden tokens are for answers of language models. */
  #embed(raw: RawRequest): Reply {
    const arrival = this.#arrive({ wire: "openai-embeddings" }, raw);
    const { bill } = this.#settings;
    try {
      const { model, inputTokens, body } = answerEmbeddings(parse(raw.body));
      bill.append({ ...arrival, ...nothing, model, inputTokens, billed: true, outcome: "answered" });
      const head = { status: 200, contentType: "application/json", headers: {} };
      return wholeReply({ ...head, body: JSON.stringify(body) });
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      bill.append({ ...arrival, ...nothing, billed: false, outcome: "invalid-request" });
      return wholeReply(openaiChat.rejectInvalid(error));
    }
  }

  #arrive({ wire }: Pick<BillEntry, "wire">, { headers }: RawRequest): Arrival {
    const key = headers["x-reeve-attempt"] ?? null;
    return {
      at: this.#settings.now(),
      wire,
      model: "",
      key,
      run: headers["x-reeve-run"] ?? null,
      streamed: false,
      files: 0,
      fileBytes: 0,
    };
  }

  #chance({ endpoint, body }: RawRequest): Chance {
    const name = digest(endpoint + body);
    const times = this.#seen.get(name) ?? 0;
    this.#seen.set(name, times + 1);
    return chance(`${this.#settings.seed ?? 1} ${name} ${times}`);
  }

  async #ask(request: ProviderRequest): Promise<ProviderAnswer | Error> {
    try {
      return await this.#settings.script(request);
    } catch (error) {
      return toError(error);
    }
  }

  #failScript(format: WireFormat, arrival: Arrival, error: Error): Reply {
    this.#settings.bill.append({ ...arrival, ...nothing, billed: false, outcome: "script-failed" });
    const message = `the script of the provider double failed: ${error.message}`;
    return wholeReply(format.rejectInvalid(new InvalidRequestError(message, { status: 500 })));
  }

  #reply(format: WireFormat, call: AnsweredCall): Reply {
    const { request, arrival, answer } = call;
    const fault = this.#fault(request, answer, call.chance);
    const billed = isBilled(fault);
    const outcome = fault?.kind ?? "answered";
    if (fault && isRefusal(fault)) {
      const usage = billed ? this.#execute(call, fault).usage : nothing;
      this.#settings.bill.append({ ...arrival, ...usage, billed, outcome });
      return wholeReply(format.refuse(fault, this.#facts(request, call.chance)));
    }
    const execution = this.#execute(call, fault);
    this.#settings.bill.append({ ...arrival, ...(billed ? execution.usage : nothing), billed, outcome });
    return planReply(format, execution, { fault, chance: call.chance });
  }

  /** An overload in the middle of a stream needs a stream. */
  #fault(request: ProviderRequest, answer: ProviderAnswer, draw: Chance): Fault | null {
    const { faults, contextWindow = Number.POSITIVE_INFINITY } = this.#settings;
    const hit = faults !== undefined && draw.fraction() < faults.rate;
    const drawn = hit ? faults.kinds[draw.integer(0, faults.kinds.length - 1)] : undefined;
    const overflows = countPrompt(request) > contextWindow;
    const chosen = answer.fault ?? (overflows ? "context-overflow" : drawn);
    if (chosen === undefined) return null;
    const fault = toFault(chosen);
    return fault.kind === "overloaded-stream" && !request.streamed ? { ...fault, kind: "overloaded" } : fault;
  }

  #execute({ request, answer, chance: draw }: AnsweredCall, fault: Fault | null): Execution {
    const { now, hiddenTokensPerMessage = 15, toolPromptTokens } = this.#settings;
    const settings = {
      chance: draw,
      now: now(),
      hiddenTokensPerMessage,
      toolPromptTokens,
      cache: this.#cache,
    };
    return execute(request, { answer, fault, settings });
  }

  #facts(request: ProviderRequest, draw: Chance): RefusalFacts {
    const { model, wire } = request;
    const inputTokens = countPrompt(request);
    const contextWindow = this.#settings.contextWindow ?? Math.max(0, inputTokens - 1);
    return { model, wire, inputTokens, contextWindow, requestId: `req_${draw.word(24)}` };
  }
}

function readBody(format: WireFormat, { headers, body }: RawRequest): ProviderRequest {
  const value = parse(body);
  if (!isJsonObject(value)) {
    throw new InvalidRequestError("We could not parse the JSON body of your request.");
  }
  return format.read(value, headers);
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

function unknownEndpoint(endpoint: string): Reply {
  const body = JSON.stringify({
    error: { message: `Invalid URL (${endpoint})`, type: "invalid_request_error" },
  });
  return wholeReply({ status: 404, contentType: "application/json", headers: {}, body });
}
