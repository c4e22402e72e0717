import type { Json, JsonObject } from "#kernel";
import type { ProviderPart, ProviderRequest } from "../provider-request.ts";
import type { Execution, ExecutedCall } from "../execution.ts";
import { overload, refuseAsOpenAI, rejectAsOpenAI } from "./openai-refusals.ts";
import { read } from "./read-json.ts";
import { dataEvent, InvalidRequestError, MessageList, portions, type WireFormat } from "./wire-format.ts";

/** OpenAI's chat completions, and what compatible servers make of them. */
export const openaiChat: WireFormat = {
  wire: "openai-chat",
  endpoint: "POST /v1/chat/completions",
  read: readRequest,
  answer: writeAnswer,
  stream: writeStream,
  overloadEvents: () => [dataEvent({ error: { ...overload } })],
  refuse: refuseAsOpenAI,
  rejectInvalid: rejectAsOpenAI,
};

function readRequest(body: JsonObject, headers: Readonly<Record<string, string>>): ProviderRequest {
  if (read.list(body["messages"]).length === 0) {
    throw new InvalidRequestError("Missing required parameter: 'messages'.", { param: "messages" });
  }
  const list = new MessageList();
  for (const value of read.list(body["messages"])) readMessage(list, read.object(value));
  return {
    wire: "openai-chat",
    model: read.text(body["model"]),
    system: list.system,
    messages: list.messages,
    tools: read.list(body["tools"]).map((value) => {
      const tool = read.object(read.object(value)["function"]);
      return {
        name: read.text(tool["name"]),
        description: read.text(tool["description"]),
        inputSchema: tool["parameters"] ?? {},
      };
    }),
    outputSchema: read.path(body, "response_format", "json_schema", "schema"),
    maxOutputTokens: readLimit(body),
    streamed: body["stream"] === true,
    marks: null,
    headers,
    body,
  };
}

function readLimit(body: JsonObject): number | null {
  const limit = read.number(body["max_completion_tokens"]) ?? read.number(body["max_tokens"]);
  if (limit !== null && limit < 1) {
    throw new InvalidRequestError(
      `Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got ${limit} instead.`,
      { param: "max_tokens", code: "integer_below_min_value" },
    );
  }
  return limit;
}

function readMessage(list: MessageList, message: JsonObject): void {
  const content = readContent(message["content"]);
  switch (read.text(message["role"])) {
    case "system":
    case "developer":
      return list.addSystem(textOf(content));
    case "tool": {
      const callId = read.text(message["tool_call_id"]);
      return list.join("tool", [{ type: "tool-result", callId, text: textOf(content), isError: false }]);
    }
    case "assistant": {
      const thoughts = read.text(message["reasoning_content"]);
      const reasoning: ProviderPart[] = thoughts === "" ? [] : [{ type: "reasoning", text: thoughts }];
      return list.add("assistant", [...reasoning, ...content, ...readCalls(message["tool_calls"])]);
    }
    default:
      return list.add("user", content);
  }
}

function readContent(content: Json | undefined): readonly ProviderPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return read.list(content).map((value) => {
    const part = read.object(value);
    return part["type"] === "text"
      ? { type: "text", text: read.text(part["text"]) }
      : { type: "other", raw: part };
  });
}

function readCalls(calls: Json | undefined): readonly ProviderPart[] {
  return read.list(calls).map((value) => {
    const call = read.object(value);
    const target = read.object(call["function"]);
    return {
      type: "tool-call",
      callId: read.text(call["id"]),
      name: read.text(target["name"]),
      input: read.arguments(target["arguments"]),
    };
  });
}

function textOf(parts: readonly ProviderPart[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

const finishReasons = {
  stop: "stop",
  "tool-calls": "tool_calls",
  length: "length",
  "content-filter": "content_filter",
} as const;

function writeAnswer(execution: Execution): JsonObject {
  const { reasoning, text, toolCalls, finishReason } = execution;
  return {
    ...head(execution, "chat.completion"),
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" && toolCalls.length > 0 ? null : text,
          refusal: null,
          annotations: [],
          ...(reasoning !== "" && { reasoning_content: reasoning }),
          ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(writeCall) }),
        },
        logprobs: null,
        finish_reason: finishReasons[finishReason],
      },
    ],
    ...(execution.reported && { usage: writeUsage(execution) }),
  };
}

/** Usage comes in a separate chunk, and only if requested. */
function writeStream(execution: Execution): readonly string[] {
  const { reasoning, text, toolCalls, finishReason, request, reported } = execution;
  const chunk = (fields: JsonObject): string =>
    dataEvent({ ...head(execution, "chat.completion.chunk"), ...fields });
  const delta = (fields: JsonObject, finish: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: finish }] });
  const wantsUsage = read.object(request.body["stream_options"])["include_usage"] === true;
  return [
    delta({ role: "assistant", content: text === "" ? null : "", refusal: null }),
    ...portions(reasoning).map((portion) => delta({ reasoning_content: portion })),
    ...portions(text).map((portion) => delta({ content: portion })),
    ...toolCalls.flatMap(callDeltas).map((call) => delta({ tool_calls: [call] })),
    delta({}, finishReasons[finishReason]),
    ...(wantsUsage && reported ? [chunk({ choices: [], usage: writeUsage(execution) })] : []),
    "data: [DONE]\n\n",
  ];
}

function head({ id, created, request }: Execution, object: string): JsonObject {
  return {
    id: `chatcmpl-${id}`,
    object,
    created,
    model: request.model,
    service_tier: "default",
    system_fingerprint: "fp_double",
  };
}

function writeCall(call: ExecutedCall): JsonObject {
  return {
    id: `call_${call.callId}`,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  };
}

/** The first delta names the tool, the others carry its arguments. */
function callDeltas(call: ExecutedCall, index: number): readonly JsonObject[] {
  const first = { index, ...writeCall({ ...call, arguments: "" }) };
  const others = portions(call.arguments).map((portion) => ({ index, function: { arguments: portion } }));
  return [first, ...others];
}

function writeUsage({ reported }: Execution): JsonObject {
  return {
    prompt_tokens: reported?.input,
    completion_tokens: reported?.output,
    total_tokens: reported?.total,
    prompt_tokens_details: { cached_tokens: reported?.cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reported?.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
