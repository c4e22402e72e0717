import type { JsonObject } from "#kernel";
import type { Execution, ExecutedCall } from "../execution.ts";
import { overload, refuseAsOpenAI, rejectAsOpenAI } from "./openai-refusals.ts";
import { readResponsesRequest, type StoredItems } from "./openai-responses-request.ts";
import { read } from "./read-json.ts";
import { namedEvent, portions, type WireFormat } from "./wire-format.ts";

type EventData = JsonObject & { readonly type: string };

/** OpenAI's responses. Stores its answers, because later requests refer to them. */
export function openaiResponses(): WireFormat {
  const items: StoredItems = new Map();
  return {
    wire: "openai-responses",
    endpoint: "POST /v1/responses",
    read: (body, headers) => readResponsesRequest(body, headers, items),
    answer: (execution) => {
      store(execution, items);
      return writeResponse(execution);
    },
    stream: (execution) => {
      store(execution, items);
      return number(writeEvents(execution));
    },
    overloadEvents: (execution, events) =>
      number(
        [
          { type: "error", error: { ...overload } },
          {
            type: "response.failed",
            response: {
              ...head(execution),
              status: "failed",
              error: { code: overload.code, message: overload.message },
              output: [],
              usage: null,
            },
          },
        ],
        events,
      ),
    refuse: refuseAsOpenAI,
    rejectInvalid: rejectAsOpenAI,
  };
}

function number(events: readonly EventData[], start = 0): readonly string[] {
  return events.map((event, index) => namedEvent({ ...event, sequence_number: start + index }));
}

/** Stores items unless the request forbids it. */
function store(execution: Execution, items: StoredItems): void {
  if (execution.request.body["store"] === false) return;
  const { id, reasoning, text, toolCalls } = execution;
  items.set(`rs_${id}`, { type: "reasoning", text: reasoning });
  items.set(`msg_${id}`, { type: "text", text });
  for (const call of toolCalls) {
    const { name } = call;
    const input = read.arguments(call.arguments);
    items.set(`fc_${call.callId}`, { type: "tool-call", callId: `call_${call.callId}`, name, input });
  }
}

function writeResponse(execution: Execution): JsonObject {
  const { reasoning, text, toolCalls, usage } = execution;
  return {
    ...head(execution),
    ...toEnding(execution),
    output: [
      ...(reasoning !== "" || usage.reasoningTokens > 0 ? [reasoningItem(execution)] : []),
      ...(text === "" ? [] : [messageItem(execution)]),
      ...toolCalls.map((call) => callItem(call, itemStatus(execution))),
    ],
    ...(execution.reported && { usage: writeUsage(execution) }),
  };
}

function writeEvents(execution: Execution): readonly EventData[] {
  const { reasoning, text, toolCalls, usage } = execution;
  const started = { ...head(execution), status: "in_progress", output: [], usage: null };
  const blocks: ((index: number) => readonly EventData[])[] = [];
  if (reasoning !== "" || usage.reasoningTokens > 0)
    blocks.push((index) => reasoningEvents(execution, index));
  if (text !== "") blocks.push((index) => messageEvents(execution, index));
  for (const call of toolCalls) blocks.push((index) => callEvents(call, index, itemStatus(execution)));
  const last = toEnding(execution)["status"] === "completed" ? "response.completed" : "response.incomplete";
  return [
    { type: "response.created", response: started },
    { type: "response.in_progress", response: started },
    ...blocks.flatMap((block, index) => block(index)),
    { type: last, response: writeResponse(execution) },
  ];
}

function head({ id, created, request }: Execution): JsonObject {
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: created,
    model: request.model,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: request.maxOutputTokens,
    parallel_tool_calls: true,
    previous_response_id: null,
    service_tier: "default",
    store: request.body["store"] !== false,
    metadata: {},
  };
}

function toEnding({ finishReason }: Execution): JsonObject {
  switch (finishReason) {
    case "stop":
    case "tool-calls":
      return { status: "completed" };
    case "length":
      return { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    case "content-filter":
      return { status: "incomplete", incomplete_details: { reason: "content_filter" } };
  }
}

function itemStatus({ finishReason }: Execution): "completed" | "incomplete" {
  return finishReason === "length" ? "incomplete" : "completed";
}

function reasoningItem({ id, reasoning, request }: Execution): JsonObject {
  const encrypted = read.list(request.body["include"]).includes("reasoning.encrypted_content");
  return {
    id: `rs_${id}`,
    type: "reasoning",
    summary: reasoning === "" ? [] : [{ type: "summary_text", text: reasoning }],
    ...(encrypted && { encrypted_content: `gAAAAA${id}` }),
  };
}

function messageItem(execution: Execution): JsonObject {
  return {
    id: `msg_${execution.id}`,
    type: "message",
    status: itemStatus(execution),
    role: "assistant",
    content: [{ type: "output_text", annotations: [], logprobs: [], text: execution.text }],
  };
}

function callItem(call: ExecutedCall, status: string): JsonObject {
  return {
    id: `fc_${call.callId}`,
    type: "function_call",
    status,
    arguments: call.arguments,
    call_id: `call_${call.callId}`,
    name: call.name,
  };
}

function reasoningEvents(execution: Execution, index: number): readonly EventData[] {
  const item = reasoningItem(execution);
  const at = { item_id: item["id"], output_index: index, summary_index: 0 };
  const part = { type: "summary_text", text: execution.reasoning };
  const summary: readonly EventData[] = [
    { type: "response.reasoning_summary_part.added", ...at, part: { type: "summary_text", text: "" } },
    ...deltaEvents("response.reasoning_summary_text.delta", execution.reasoning, at),
    { type: "response.reasoning_summary_text.done", ...at, text: execution.reasoning },
    { type: "response.reasoning_summary_part.done", ...at, part },
  ];
  return [
    { type: "response.output_item.added", output_index: index, item: { ...item, summary: [] } },
    ...(execution.reasoning === "" ? [] : summary),
    { type: "response.output_item.done", output_index: index, item },
  ];
}

function messageEvents(execution: Execution, index: number): readonly EventData[] {
  const item = messageItem(execution);
  const at = { item_id: item["id"], output_index: index, content_index: 0 };
  const part = { type: "output_text", annotations: [], logprobs: [] };
  const empty = { ...item, status: "in_progress", content: [] };
  return [
    { type: "response.output_item.added", output_index: index, item: empty },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    ...deltaEvents("response.output_text.delta", execution.text, { ...at, logprobs: [] }),
    { type: "response.output_text.done", ...at, text: execution.text, logprobs: [] },
    { type: "response.content_part.done", ...at, part: { ...part, text: execution.text } },
    { type: "response.output_item.done", output_index: index, item },
  ];
}

function callEvents(call: ExecutedCall, index: number, status: string): readonly EventData[] {
  const item = callItem(call, status);
  const at = { item_id: item["id"], output_index: index };
  const empty = { ...item, status: "in_progress", arguments: "" };
  return [
    { type: "response.output_item.added", output_index: index, item: empty },
    ...deltaEvents("response.function_call_arguments.delta", call.arguments, at),
    { type: "response.function_call_arguments.done", ...at, arguments: call.arguments },
    { type: "response.output_item.done", output_index: index, item },
  ];
}

function deltaEvents(type: string, text: string, place: JsonObject): readonly EventData[] {
  return portions(text).map((delta) => Object.assign({ type, delta }, place));
}

function writeUsage({ reported }: Execution): JsonObject {
  return {
    input_tokens: reported?.input,
    input_tokens_details: { cached_tokens: reported?.cached },
    output_tokens: reported?.output,
    output_tokens_details: { reasoning_tokens: reported?.reasoning },
    total_tokens: reported?.total,
  };
}
