import { isJsonObject, type JsonObject } from "#kernel";
import type { Execution, ExecutedCall } from "../execution.ts";
import { readMessagesRequest } from "./anthropic-messages-request.ts";
import { refuseAsAnthropic, rejectAsAnthropic } from "./anthropic-refusals.ts";
import { read } from "./read-json.ts";
import { namedEvent, portions, type WireFormat } from "./wire-format.ts";

/** Anthropic's messages. */
export const anthropicMessages: WireFormat = {
  wire: "anthropic-messages",
  endpoint: "POST /v1/messages",
  read: readMessagesRequest,
  answer: writeAnswer,
  stream: writeStream,
  overloadEvents: () => [
    namedEvent({
      type: "error",
      error: { details: null, type: "overloaded_error", message: "Overloaded" },
    }),
  ],
  refuse: refuseAsAnthropic,
  rejectInvalid: rejectAsAnthropic,
};

const stopReasons = {
  stop: "end_turn",
  "tool-calls": "tool_use",
  length: "max_tokens",
  "content-filter": "refusal",
} as const;

function writeAnswer(execution: Execution): JsonObject {
  const { reasoning, text, toolCalls, finishReason, reported } = execution;
  return {
    ...head(execution),
    content: [
      ...(reasoning === ""
        ? []
        : [{ type: "thinking", thinking: reasoning, signature: signature(execution) }]),
      ...(text === "" ? [] : [{ type: "text", text }]),
      ...toolCalls.map(writeCall),
    ],
    stop_reason: stopReasons[finishReason],
    stop_sequence: null,
    ...(reported && { usage: { ...inputUsage(execution), ...outputUsage(execution) } }),
  };
}

/** Arguments are not text here: anything but a JSON object arrives empty. */
function writeCall(call: ExecutedCall): JsonObject {
  const input = read.arguments(call.arguments);
  return {
    type: "tool_use",
    id: `toolu_${call.callId}`,
    name: call.name,
    input: isJsonObject(input) ? input : {},
  };
}

function writeStream(execution: Execution): readonly string[] {
  const { reasoning, text, toolCalls, finishReason, reported } = execution;
  const blocks: ((index: number) => readonly string[])[] = [];
  if (reasoning !== "") blocks.push((index) => thinkingEvents(execution, index));
  if (text !== "") blocks.push((index) => textEvents(text, index));
  for (const call of toolCalls) blocks.push((index) => callEvents(call, index));
  const started = {
    ...head(execution),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(reported && { usage: { ...inputUsage(execution), output_tokens: 1 } }),
  };
  return [
    namedEvent({ type: "message_start", message: started }),
    namedEvent({ type: "ping" }),
    ...blocks.flatMap((block, index) => block(index)),
    namedEvent({
      type: "message_delta",
      delta: { stop_reason: stopReasons[finishReason], stop_sequence: null },
      ...(reported && { usage: { ...inputUsage(execution), ...outputUsage(execution) } }),
    }),
    namedEvent({ type: "message_stop" }),
  ];
}

function thinkingEvents(execution: Execution, index: number): readonly string[] {
  return blockEvents(index, { type: "thinking", thinking: "", signature: "" }, [
    ...portions(execution.reasoning).map((thinking) => ({ type: "thinking_delta", thinking })),
    { type: "signature_delta", signature: signature(execution) },
  ]);
}

function textEvents(text: string, index: number): readonly string[] {
  const deltas = portions(text).map((portion) => ({ type: "text_delta", text: portion }));
  return blockEvents(index, { type: "text", text: "" }, deltas);
}

function callEvents(call: ExecutedCall, index: number): readonly string[] {
  const deltas = ["", ...portions(call.arguments)];
  return blockEvents(
    index,
    { ...writeCall(call), input: {} },
    deltas.map((portion) => ({ type: "input_json_delta", partial_json: portion })),
  );
}

function blockEvents(index: number, block: JsonObject, deltas: readonly JsonObject[]): readonly string[] {
  return [
    namedEvent({ type: "content_block_start", index, content_block: block }),
    ...deltas.map((delta) => namedEvent({ type: "content_block_delta", index, delta })),
    namedEvent({ type: "content_block_stop", index }),
  ];
}

function head({ id, request }: Execution): JsonObject {
  return { id: `msg_${id}`, type: "message", role: "assistant", model: request.model };
}

function signature({ id }: Execution): string {
  return `EqQB${id}`;
}

/** Here, and only here, the input does not include what came from the cache. */
function inputUsage({ reported }: Execution): JsonObject {
  return {
    input_tokens: reported?.uncached,
    cache_creation_input_tokens: reported?.written,
    cache_read_input_tokens: reported?.cached,
    service_tier: "standard",
  };
}

function outputUsage({ reported }: Execution): JsonObject {
  return {
    output_tokens: reported?.output,
    output_tokens_details: { thinking_tokens: reported?.reasoning },
  };
}
