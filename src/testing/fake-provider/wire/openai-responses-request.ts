import type { Json, JsonObject } from "#kernel";
import type { ProviderPart, ProviderRequest } from "../provider-request.ts";
import { read } from "./read-json.ts";
import { InvalidRequestError, MessageList } from "./wire-format.ts";

/** Stored answers of the provider by item id, so that later requests can refer to them. */
export type StoredItems = Map<string, ProviderPart>;

/** The least that the provider accepts as `max_output_tokens`. */
const minimumLimit = 16;

/** Parses a request, and looks up the items it refers to. */
export function readResponsesRequest(
  body: JsonObject,
  headers: Readonly<Record<string, string>>,
  items: StoredItems,
): ProviderRequest {
  refuseConversations(body);
  const list = new MessageList();
  list.addSystem(read.text(body["instructions"]));
  if (typeof body["input"] === "string") list.add("user", [{ type: "text", text: body["input"] }]);
  for (const value of read.list(body["input"])) readItem(list, read.object(value), items);
  if (list.messages.length === 0 && list.system === "") {
    throw new InvalidRequestError("Missing required parameter: 'input'.", { param: "input" });
  }
  return {
    wire: "openai-responses",
    model: read.text(body["model"]),
    system: list.system,
    messages: list.messages,
    tools: read.list(body["tools"]).map((value) => {
      const tool = read.object(value);
      return {
        name: read.text(tool["name"]),
        description: read.text(tool["description"]),
        inputSchema: tool["parameters"] ?? {},
      };
    }),
    outputSchema: read.path(body, "text", "format", "schema"),
    maxOutputTokens: readLimit(body),
    streamed: body["stream"] === true,
    marks: null,
    headers,
    body,
  };
}

/**
 * A conversation stored at the provider would be billed with every call without the caller seeing it, so it is refused.
 */
function refuseConversations(body: JsonObject): void {
  for (const param of ["previous_response_id", "conversation"]) {
    if ((body[param] ?? null) !== null) {
      throw new InvalidRequestError(`The provider double keeps no conversations: '${param}'.`, { param });
    }
  }
}

function readLimit(body: JsonObject): number | null {
  const limit = read.number(body["max_output_tokens"]);
  if (limit !== null && limit < minimumLimit) {
    throw new InvalidRequestError(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${minimumLimit}, but got ${limit} instead.`,
      { param: "max_output_tokens", code: "integer_below_min_value" },
    );
  }
  return limit;
}

function readItem(list: MessageList, item: JsonObject, items: StoredItems): void {
  switch (read.text(item["type"])) {
    case "function_call":
      return list.join("assistant", [
        {
          type: "tool-call",
          callId: read.text(item["call_id"]),
          name: read.text(item["name"]),
          input: read.arguments(item["arguments"]),
        },
      ]);
    case "function_call_output": {
      const callId = read.text(item["call_id"]);
      const text = textOf(item["output"]);
      return list.join("tool", [{ type: "tool-result", callId, text, isError: false }]);
    }
    case "reasoning":
      return list.join("assistant", [{ type: "reasoning", text: textOf(item["summary"]) }]);
    case "item_reference":
      return list.join("assistant", [lookUp(read.text(item["id"]), items)]);
    default:
      return readMessage(list, item);
  }
}

function readMessage(list: MessageList, item: JsonObject): void {
  switch (read.text(item["role"])) {
    case "system":
    case "developer":
      return list.addSystem(textOf(item["content"]));
    case "assistant":
      return list.join("assistant", readContent(item["content"]));
    case "user":
      return list.add("user", readContent(item["content"]));
    default:
      return list.add("user", [{ type: "other", raw: item }]);
  }
}

function lookUp(id: string, items: StoredItems): ProviderPart {
  const item = items.get(id);
  if (item) return item;
  throw new InvalidRequestError(
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    { status: 404, param: "input" },
  );
}

function readContent(content: Json | undefined): readonly ProviderPart[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return read.list(content).map((value) => {
    const part = read.object(value);
    return "text" in part ? { type: "text", text: read.text(part["text"]) } : { type: "other", raw: part };
  });
}

function textOf(content: Json | undefined): string {
  return readContent(content)
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("");
}
