import { isJsonObject, Json, type JsonObject } from "#kernel";
import { providerAt, wireField } from "#models";
import type { Asked, Granted } from "./governor.ts";
import { wireMessage, wireTool } from "./wire-prompt.ts";
import { wireOf, type Wire } from "./wires.ts";

type FetchArguments = Parameters<typeof globalThis.fetch>;

/** Less than this a model cannot say after it has thought. */
const leastAfterThinking = 16;

/** A request before it is made. */
export class FetchRequest {
  readonly url: string;
  readonly unchanged: FetchArguments;
  /** Undefined: nobody can say what it will cost. */
  readonly wire: Wire | undefined;
  readonly #body: JsonObject | undefined;

  private constructor(unchanged: FetchArguments, body: string | null) {
    const [input] = unchanged;
    this.unchanged = unchanged;
    this.url = input instanceof Request ? input.url : String(input);
    this.#body = parsed(body);
    this.wire = typeof this.#body?.["model"] === "string" ? wireOf(this.url) : undefined;
  }

  static async read(...given: FetchArguments): Promise<FetchRequest> {
    const [input, init] = given;
    if (typeof init?.body === "string") return new FetchRequest(given, init.body);
    const isWhole = input instanceof Request && !init?.body;
    return new FetchRequest(given, isWhole ? await input.clone().text() : null);
  }

  /** Whether it does more than read. */
  get costs(): boolean {
    const [input, init] = this.unchanged;
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    return method.toUpperCase() === "POST";
  }

  get signal(): AbortSignal | undefined {
    const [input, init] = this.unchanged;
    return init?.signal ?? (input instanceof Request ? input.signal : undefined);
  }

  get asked(): Asked | undefined {
    const body = this.#body;
    const { wire, url } = this;
    const id = body?.["model"];
    if (!body || !wire || typeof id !== "string") return undefined;
    const tools = wire.tools(body);
    const limit = body[limitField(wire, body, url)];
    const thinking = Number(wireField(body["thinking"], "budget_tokens") ?? 0);
    return {
      model: { id, provider: providerAt(url) },
      prompt: {
        setting: JSON.stringify([id, wire.path, body["tool_choice"], body["thinking"]]),
        messages: wire.messages(body).map(wireMessage),
        tools: tools.map(wireTool),
        isOpenEnded: isOpenEnded(wire, body),
      },
      outputTokens: typeof limit === "number" ? limit * choices(body) : undefined,
      extraOutputTokens: 0,
      minOutputTokens: thinking > 0 ? thinking + leastAfterThinking : undefined,
    };
  }

  /** The same request, which may be answered with no more than is paid for. */
  limited({ outputTokens }: Granted): FetchArguments {
    const [input, init] = this.unchanged;
    const body = this.#body ?? {};
    if (!this.wire) return this.unchanged;
    const limit = outputTokens && {
      [limitField(this.wire, body, this.url)]: Math.floor(outputTokens / choices(body)),
    };
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    headers.delete("content-length");
    return [
      input,
      { ...init, headers, body: JSON.stringify({ ...body, ...this.wire.reporting(body), ...limit }) },
    ];
  }
}

/** The field that is there; else the one that the provider knows. */
function limitField({ limits }: Wire, body: JsonObject, url: string): string {
  const [first = "", ...newer] = limits;
  const there = limits.find((name) => body[name] !== undefined && body[name] !== null);
  const isOpenAi = /(?:openai|azure)\.com$/.test(new URL(url).hostname);
  return there ?? (isOpenAi ? newer.at(-1) : undefined) ?? first;
}

/** How many answers are asked for at once. */
function choices({ n }: JsonObject): number {
  return typeof n === "number" && n > 1 ? n : 1;
}

function isOpenEnded({ openEnded, ownTools }: Wire, body: JsonObject): boolean {
  const tools = Array.isArray(body["tools"]) ? body["tools"] : [];
  return (
    openEnded.some((name) => body[name] !== undefined && body[name] !== null && body[name] !== false) ||
    tools.some((tool) => !ownTools.includes(wireField(tool, "type")))
  );
}

function parsed(body: string | null): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body ?? "");
    return isJsonObject(value) ? Json.as<JsonObject>(Json.of(value)) : undefined;
  } catch {
    return undefined;
  }
}
