import type { JsonObject } from "#kernel";
import type { ProviderMessage, ProviderPart, ProviderRequest, Wire } from "../provider-request.ts";
import type { Execution } from "../execution.ts";
import type { Refusal } from "../fault.ts";
import { pieces } from "../tokenizer.ts";

/** A response that is not an answer of the model, as sent. */
export interface RefusalReply {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request that the provider would not accept. */
export class InvalidRequestError extends Error {
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;

  constructor(message: string, fields: { status?: number; param?: string; code?: string } = {}) {
    super(message);
    this.status = fields.status ?? 400;
    this.param = fields.param ?? null;
    this.code = fields.code ?? null;
  }
}

/** One wire format. */
export interface WireFormat {
  readonly wire: Wire;
  /** Method and path. */
  readonly endpoint: string;
  /** Fails with an {@link InvalidRequestError}. */
  read(body: JsonObject, headers: Readonly<Record<string, string>>): ProviderRequest;
  /** The body of an answer that is not streamed. */
  answer(execution: Execution): JsonObject;
  /** The events of a streamed answer, as they are sent. */
  stream(execution: Execution): readonly string[];
  /** Returns the end of a stream after `events` events when the provider is overloaded. */
  overloadEvents(execution: Execution, events: number): readonly string[];
  refuse(refusal: Refusal, facts: RefusalFacts): RefusalReply;
  rejectInvalid(error: InvalidRequestError): RefusalReply;
}

/** Facts that refusal messages mention. */
export interface RefusalFacts {
  readonly model: string;
  readonly wire: Wire;
  readonly inputTokens: number;
  readonly contextWindow: number;
  readonly requestId: string;
}

/** An event with data only. */
export function dataEvent(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** An event that repeats the type of its data. */
export function namedEvent(data: JsonObject & { readonly type: string }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A text in the portions in which it is streamed. */
export function portions(text: string): readonly string[] {
  const all = pieces(text);
  const size = 3;
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size).join(""),
  );
}

/** Collects messages, and joins what belongs to one message although the wire splits it. */
export class MessageList {
  readonly #messages: { role: ProviderMessage["role"]; parts: ProviderPart[] }[] = [];
  readonly #system: string[] = [];

  addSystem(text: string): void {
    if (text !== "") this.#system.push(text);
  }

  add(role: ProviderMessage["role"], parts: readonly ProviderPart[]): void {
    this.#messages.push({ role, parts: [...parts] });
  }

  /** Adds to the last message if it has the same role. */
  join(role: ProviderMessage["role"], parts: readonly ProviderPart[]): void {
    const last = this.#messages.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.add(role, parts);
  }

  get system(): string {
    return this.#system.join("\n\n");
  }

  get messages(): readonly ProviderMessage[] {
    return this.#messages;
  }
}
