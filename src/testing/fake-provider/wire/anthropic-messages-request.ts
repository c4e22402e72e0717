import type { Json, JsonObject } from "#kernel";
import type { ProviderPart, ProviderRequest } from "../provider-request.ts";
import { read } from "./read-json.ts";
import { InvalidRequestError, MessageList } from "./wire-format.ts";

/** Reads a request. Tool results, which travel in a user's message, become a message of their own. */
export function readMessagesRequest(
  body: JsonObject,
  headers: Readonly<Record<string, string>>,
): ProviderRequest {
  if (read.list(body["messages"]).length === 0) {
    throw new InvalidRequestError("messages: at least one message is required");
  }
  const list = new MessageList();
  list.addSystem(textOf(body["system"]));
  for (const value of read.list(body["messages"])) readMessage(list, read.object(value));
  return {
    wire: "anthropic-messages",
    model: read.text(body["model"]),
    system: list.system,
    messages: list.messages,
    tools: read.list(body["tools"]).map((value) => {
      const tool = read.object(value);
      return {
        name: read.text(tool["name"]),
        description: read.text(tool["description"]),
        inputSchema: tool["input_schema"] ?? {},
      };
    }),
    outputSchema: read.path(body, "output_config", "format", "schema"),
    maxOutputTokens: readLimit(body),
    streamed: body["stream"] === true,
    marks: readMarks(body),
    headers,
    body,
  };
}

/** The most marks that Anthropic takes. */
const maxMarks = 4;

/** A mark of the whole request is after its last block. */
function readMarks(body: JsonObject): readonly number[] {
  const blocks = read.list(body["messages"]).flatMap((message): readonly unknown[] => {
    const { content } = read.object(message);
    return typeof content === "string" ? [content] : read.list(content);
  });
  const marks = [
    ...read.list(body["system"]).flatMap((block) => (isMarked(block) ? [0] : [])),
    ...blocks.flatMap((block, index) => (isMarked(block) ? [index + 1] : [])),
    ...(isMarked(body) ? [blocks.length] : []),
  ];
  if (marks.length > maxMarks) {
    const message = `A maximum of ${maxMarks} blocks with cache_control may be provided. Found ${marks.length}.`;
    throw new InvalidRequestError(message);
  }
  return marks;
}

function isMarked(block: unknown): boolean {
  return (read.object(block)["cache_control"] ?? null) !== null;
}

/** Anthropic does not work without a limit. */
function readLimit(body: JsonObject): number {
  const limit = read.number(body["max_tokens"]);
  if (limit === null) throw new InvalidRequestError("max_tokens: Field required");
  if (limit < 1) {
    throw new InvalidRequestError("max_tokens: Input should be greater than or equal to 1");
  }
  return limit;
}

function readMessage(list: MessageList, message: JsonObject): void {
  const parts = readContent(message["content"]);
  if (message["role"] === "system") return list.addSystem(textOf(message["content"]));
  if (message["role"] === "assistant") return list.add("assistant", parts);
  const results = parts.filter(({ type }) => type === "tool-result");
  const rest = parts.filter(({ type }) => type !== "tool-result");
  if (results.length > 0) list.add("tool", results);
  if (rest.length > 0 || results.length === 0) list.add("user", rest);
}

function readContent(content: Json | undefined): readonly ProviderPart[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return read.list(content).map((value) => readBlock(read.object(value)));
}

function readBlock(block: JsonObject): ProviderPart {
  switch (read.text(block["type"])) {
    case "text":
      return { type: "text", text: read.text(block["text"]) };
    case "thinking":
      return { type: "reasoning", text: read.text(block["thinking"]) };
    case "tool_use":
      return {
        type: "tool-call",
        callId: read.text(block["id"]),
        name: read.text(block["name"]),
        input: block["input"] ?? {},
      };
    case "tool_result":
      return {
        type: "tool-result",
        callId: read.text(block["tool_use_id"]),
        text: textOf(block["content"]),
        isError: block["is_error"] === true,
      };
    default:
      return { type: "other", raw: block };
  }
}

function textOf(content: Json | undefined): string {
  return readContent(content)
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("");
}
