import { isJsonObject, Json, type JsonObject } from "#kernel";
import { fieldCost, lowerNumbers, providerAt, wireField, type OptionCost } from "#models";
import type { GovernedRequest, GovernedGrant } from "./governor.ts";
import { wireMessage, wireTool } from "./wire-prompt.ts";
import { wireOf, type Wire } from "./wires.ts";

type FetchArguments = Parameters<typeof globalThis.fetch>;

/** Output tokens a model needs at least after thinking. */
const leastAfterThinking = 16;

/** A request before it is sent. */
export class FetchRequest {
  readonly url: string;
  readonly unchanged: FetchArguments;
  /** Undefined if the format is unknown, so that the cost cannot be bounded. */
  readonly wire: Wire | undefined;
  readonly #body: JsonObject | undefined;

  private constructor(unchanged: FetchArguments, body: string | null) {
    const [input] = unchanged;
    this.unchanged = unchanged;
    this.url = input instanceof Request ? input.url : String(input);
    this.#body = parseJsonBody(body);
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

  /** `allowed`: fields that may cost anything. */
  toGovernedRequest(allowed: readonly string[]): GovernedRequest | undefined {
    const body = this.#body;
    const { wire, url } = this;
    const id = body?.["model"];
    if (!body || !wire || typeof id !== "string") return undefined;
    const tools = wire.tools(body);
    const thinking = Number(wireField(body["thinking"], "budget_tokens") ?? 0);
    return {
      prompt: {
        model: { id, provider: providerAt(url) },
        setting: JSON.stringify([new URL(url).origin, id, wire.path, body["tool_choice"], body["thinking"]]),
        messages: wire.messages(body).map(wireMessage),
        tools: tools.map(wireTool),
        isOpenEnded: isOpenEnded(wire, body),
      },
      outputTokens: limitOf(wire, body),
      options: costOf(wire, body, allowed),
      allowance: "govern.fetch(",
      minOutputTokens: thinking > 0 ? thinking + leastAfterThinking : undefined,
    };
  }

  /** The same request, which may be answered with no more than is paid for. */
  withLimit({ outputTokens }: GovernedGrant): FetchArguments {
    const [input, init] = this.unchanged;
    const body = this.#body ?? {};
    if (!this.wire) return this.unchanged;
    const share = outputTokens && Math.floor(outputTokens / costOf(this.wire, body, []).choices);
    const limit = share && limitsWithin(this.wire, body, { url: this.url, share });
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    headers.delete("content-length");
    return [
      input,
      { ...init, headers, body: JSON.stringify({ ...body, ...this.wire.toReportingFields(body), ...limit }) },
    ];
  }
}

/** The highest limit of a request that names any. */
function limitOf({ limits }: Wire, body: JsonObject): number | undefined {
  const named = limits.map((name) => body[name]).filter((value) => typeof value === "number" && value >= 1);
  const highest = Math.max(...named.map(Number));
  return Number.isSafeInteger(highest) ? highest : undefined;
}

/** Lowers every limit in the request. If there is none, sets the field the provider supports. */
function limitsWithin(
  { limits }: Wire,
  body: JsonObject,
  { url, share }: { readonly url: string; readonly share: number },
): JsonObject {
  const [first = "", ...newer] = limits;
  const there = limits.filter((name) => body[name] !== undefined && body[name] !== null);
  const isOpenAi = /(?:openai|azure)\.com$/.test(new URL(url).hostname);
  if (there.length === 0) return { [(isOpenAi ? newer.at(-1) : undefined) ?? first]: share };
  return Object.fromEntries(there.map((name) => [name, lowerNumbers(body[name] ?? share, share)]));
}

function costOf({ family, parts }: Wire, body: JsonObject, allowed: readonly string[]): OptionCost {
  const fields = Object.entries(body).filter(([name]) => !parts.includes(name));
  return fieldCost(family, Object.fromEntries(fields), allowed);
}

/** Whether the provider runs tools by itself, or the prompt has a form that cannot be measured. */
function isOpenEnded({ ownTools, hasPrompt }: Wire, body: JsonObject): boolean {
  const { tools = null } = body;
  if (!hasPrompt(body) || (tools !== null && !Array.isArray(tools))) return true;
  return (tools ?? []).some((tool) => !ownTools.includes(wireField(tool, "type")));
}

function parseJsonBody(body: string | null): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body ?? "");
    return isJsonObject(value) ? Json.as<JsonObject>(Json.of(value)) : undefined;
  } catch {
    return undefined;
  }
}
