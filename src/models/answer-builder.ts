import {
  isJsonObject,
  Json,
  ModelError,
  type ChatMessage,
  type ContentBlock,
  type FileBlock,
  type FinishReason,
  type ModelDelta,
  type ModelResponse,
  type ToolCallBlock,
} from "#kernel";
import { readToolInput } from "./tool-input.ts";
import { readUsage } from "./read-usage.ts";
import { wireField, wireText } from "./wire-field.ts";

/**
 * A part of a streamed or whole answer. Read as untyped wire data, because patch releases add parts and providers fill
 * them inconsistently.
 */
export interface WirePart {
  readonly type: string;
}

/** Text or thinking that is still coming. */
interface Draft {
  readonly type: "draft";
  readonly of: "text" | "reasoning";
  text: string;
  providerData: Json | undefined;
}

/** A part that arrives whole. */
type WholeBlock = ToolCallBlock | FileBlock;

/** The reported end of an answer. */
interface AnswerEnd {
  readonly finishReason: unknown;
  readonly usage: unknown;
  readonly providerMetadata?: unknown;
}

const reasons: ReadonlySet<string> = new Set([
  "stop",
  "tool-calls",
  "length",
  "content-filter",
  "error",
  "other",
] satisfies FinishReason[]);

/** More parts than any model returns in one call. A longer answer is refused, because it would exhaust memory. */
const mostParts = 1_000_000;
const mostCharacters = 8_000_000;
const mostFileBytes = 64_000_000;

/** Puts an answer together, in the order of its parts. */
export class AnswerBuilder {
  readonly #content: (Draft | WholeBlock)[] = [];
  readonly #open = new Map<string, Draft>();
  #ending: AnswerEnd | undefined;
  #parts = 0;
  #characters = 0;
  #fileBytes = 0;

  /**
   * Adds a part. Returns the delta to publish. Parts of unknown kinds change nothing.
   * @throws ModelError if the answer is too large.
   */
  add(part: WirePart): ModelDelta | null {
    this.#measure(part);
    switch (part.type) {
      case "text":
      case "reasoning":
        this.#start(part.type, part).text = wireText(part, "text");
        return null;
      case "text-start":
      case "reasoning-start":
        this.#start(part.type === "text-start" ? "text" : "reasoning", part);
        return null;
      case "text-delta":
      case "reasoning-delta":
        return this.#extend(part.type === "text-delta" ? "text" : "reasoning", part);
      case "text-end":
      case "reasoning-end":
        this.#end(part.type === "text-end" ? "text" : "reasoning", part);
        return null;
      case "tool-input-delta":
        return { kind: "tool-input", text: wireText(part, "delta") };
      case "tool-call":
        this.#call(part);
        return null;
      case "file":
        this.#file(part);
        return null;
      case "finish":
        this.#ending = {
          finishReason: wireField(part, "finishReason"),
          usage: wireField(part, "usage"),
          providerMetadata: wireField(part, "providerMetadata"),
        };
        return null;
      default:
        return null;
    }
  }

  #measure(part: WirePart): void {
    this.#parts += 1;
    this.#characters +=
      getFieldLength(part, "text") + getFieldLength(part, "delta") + getFieldLength(part, "input");
    if (part.type === "file") this.#fileBytes += sizeOf(wireField(part, "data"));
    if (this.#parts > mostParts) throw tooMuch(`${mostParts} parts`);
    if (this.#characters > mostCharacters) throw tooMuch(`${mostCharacters} characters`);
    if (this.#fileBytes > mostFileBytes) throw tooMuch(`${mostFileBytes} bytes of files`);
  }

  /** Whether the end has come. */
  get isFinished(): boolean {
    return this.#ending !== undefined;
  }

  /** The whole answer. Null: its end never came, so it may not be whole. */
  build(): ModelResponse | null {
    if (!this.#ending) return null;
    const finishReason = reason(this.#ending.finishReason);
    if (finishReason === "interrupted") return null;
    const message: ChatMessage = { role: "assistant", content: this.#content.flatMap(finishPiece) };
    const providerData = this.#ending.providerMetadata;
    return {
      message,
      usage: readUsage(this.#ending.usage),
      finishReason,
      ...(isJsonObject(providerData) && { providerData }),
    };
  }

  #start(of: Draft["of"], part: WirePart): Draft {
    const draft: Draft = { type: "draft", of, text: "", providerData: metadata(part) };
    this.#content.push(draft);
    this.#open.set(`${of}/${wireText(part, "id")}`, draft);
    return draft;
  }

  #extend(type: Draft["of"], part: WirePart): ModelDelta | null {
    const draft = this.#open.get(`${type}/${wireText(part, "id")}`) ?? this.#start(type, part);
    const text = wireText(part, "delta");
    draft.text += text;
    draft.providerData = metadata(part) ?? draft.providerData;
    return text === "" ? null : { kind: type, text };
  }

  #end(type: Draft["of"], part: WirePart): void {
    const key = `${type}/${wireText(part, "id")}`;
    const draft = this.#open.get(key);
    if (draft) draft.providerData = metadata(part) ?? draft.providerData;
    this.#open.delete(key);
  }

  /** A tool call that the provider executes itself is skipped. */
  #call(part: WirePart): void {
    if (wireField(part, "providerExecuted") === true) return;
    const providerData = metadata(part);
    const call = {
      type: "tool-call" as const,
      callId: wireText(part, "toolCallId"),
      name: wireText(part, "toolName"),
      ...readToolInput(wireField(part, "input")),
      ...(providerData !== undefined && { providerData }),
    };
    this.#content.push(call);
  }

  #file(part: WirePart): void {
    const source = fileSource(wireField(part, "data"));
    if (source) this.#content.push({ type: "file", mediaType: wireText(part, "mediaType"), source });
  }
}

function getFieldLength(part: WirePart, field: string): number {
  const value = wireField(part, field);
  return typeof value === "string" ? value.length : 0;
}

function sizeOf(data: unknown): number {
  if (typeof data === "string" || data instanceof Uint8Array) return data.length;
  return isJsonObject(data) ? sizeOf(data["data"]) : 0;
}

const tooMuch = (limit: string): ModelError =>
  new ModelError({ kind: "format", message: `the answer has more than ${limit}` });

/** Empty text is left out, unless the provider needs its metadata back. */
function finishPiece(piece: Draft | WholeBlock): ContentBlock[] {
  if (piece.type !== "draft") return [piece];
  const { of: type, text, providerData } = piece;
  if (text === "" && providerData === undefined) return [];
  const block = { type, text, ...(providerData !== undefined && { providerData }) };
  return [block];
}

/**
 * V3 and V4 send an object, older builds of V3 a string. `interrupted`: the provider reports that the end is missing.
 */
function reason(reported: unknown): FinishReason | "interrupted" {
  const unified = isJsonObject(reported) ? reported["unified"] : reported;
  return isReason(unified) ? unified : "other";
}

function isReason(value: unknown): value is FinishReason | "interrupted" {
  return typeof value === "string" && (reasons.has(value) || value === "interrupted");
}

/** V3 sends the bytes; V4 states whether it sends bytes or a URL. */
function fileSource(data: unknown): FileBlock["source"] | null {
  if (typeof data === "string") return { base64: data };
  if (data instanceof Uint8Array) return { base64: Buffer.from(data).toString("base64") };
  if (!isJsonObject(data)) return null;
  const { url }: { readonly url?: unknown } = data;
  if (url instanceof URL) return { url: url.href };
  return typeof url === "string" ? { url } : fileSource(data["data"]);
}

function metadata(part: WirePart): Json | undefined {
  const data = wireField(part, "providerMetadata");
  return isJsonObject(data) && Object.keys(data).length > 0 ? Json.of(data) : undefined;
}
