import type { Canned } from "./canned-server.ts";
import type { Way, Wire } from "./real-providers.ts";

const args = '{"question":"pump"}';

const chatUsage = {
  prompt_tokens: 120,
  completion_tokens: 30,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 100 },
  completion_tokens_details: { reasoning_tokens: 10 },
};

const chatChunk = (delta: object, finish: string | null = null): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-4o",
  choices: [{ index: 0, delta, finish_reason: finish }],
});

const chatCall = (argument: string): object => ({
  id: "call_1",
  type: "function",
  function: { name: "look", arguments: argument },
});

const chat = {
  whole: {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "gpt-4o",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "Let me look.", tool_calls: [chatCall(args)] },
        finish_reason: "tool_calls",
      },
    ],
    usage: chatUsage,
  },
  begun: [chatChunk({ role: "assistant", content: "Let me " })],
  streamed: [
    chatChunk({ role: "assistant", content: "Let me " }),
    chatChunk({ content: "look." }),
    chatChunk({ tool_calls: [{ index: 0, ...chatCall("") }] }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: args.slice(0, 9) } }] }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: args.slice(9) } }] }),
    chatChunk({}, "tool_calls"),
    {
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "gpt-4o",
      choices: [],
      usage: chatUsage,
    },
    "[DONE]",
  ],
};

const reasoningItem = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Hm." }],
  encrypted_content: "SECRET",
};
const messageItem = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Let me look.", annotations: [], logprobs: [] }],
};
const callItem = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "look",
  arguments: args,
  status: "completed",
};
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "gpt-5",
  status: "completed",
  error: null,
  incomplete_details: null,
  output: [reasoningItem, messageItem, callItem],
  usage: {
    input_tokens: 120,
    input_tokens_details: { cached_tokens: 100 },
    output_tokens: 30,
    output_tokens_details: { reasoning_tokens: 10 },
    total_tokens: 150,
  },
};

const responsesBegun = [
  {
    type: "response.created",
    sequence_number: 0,
    response: { ...response, status: "in_progress", output: [] },
  },
  { type: "response.output_item.added", output_index: 1, item: { ...messageItem, content: [] } },
  {
    type: "response.output_text.delta",
    item_id: "msg_1",
    output_index: 1,
    content_index: 0,
    delta: "Let me ",
  },
];

const responses = {
  whole: response,
  begun: responsesBegun,
  streamed: [
    {
      type: "response.created",
      sequence_number: 0,
      response: { ...response, status: "in_progress", output: [] },
    },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...reasoningItem, summary: [], encrypted_content: null },
    },
    { type: "response.reasoning_summary_part.added", item_id: "rs_1", output_index: 0, summary_index: 0 },
    {
      type: "response.reasoning_summary_text.delta",
      item_id: "rs_1",
      output_index: 0,
      summary_index: 0,
      delta: "Hm.",
    },
    { type: "response.reasoning_summary_part.done", item_id: "rs_1", output_index: 0, summary_index: 0 },
    { type: "response.output_item.done", output_index: 0, item: reasoningItem },
    ...responsesBegun.slice(1),
    {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 1,
      content_index: 0,
      delta: "look.",
    },
    { type: "response.output_item.done", output_index: 1, item: messageItem },
    {
      type: "response.output_item.added",
      output_index: 2,
      item: { ...callItem, arguments: "", status: "in_progress" },
    },
    { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 2, delta: args },
    { type: "response.function_call_arguments.done", item_id: "fc_1", output_index: 2, arguments: args },
    { type: "response.output_item.done", output_index: 2, item: callItem },
    { type: "response.completed", sequence_number: 9, response },
  ],
};

const claudeUsage = {
  input_tokens: 20,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 0,
  output_tokens: 1,
};

const claudeMessage = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-5" };

const claudeBegun = [
  {
    type: "message_start",
    message: { ...claudeMessage, content: [], stop_reason: null, stop_sequence: null, usage: claudeUsage },
  },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Let me " } },
];

const anthropic = {
  whole: {
    ...claudeMessage,
    content: [
      { type: "thinking", thinking: "Hm.", signature: "SECRET" },
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "call_1", name: "look", input: { question: "pump" } },
    ],
    stop_reason: "tool_use",
    stop_sequence: null,
    usage: { ...claudeUsage, output_tokens: 30 },
  },
  begun: claudeBegun,
  streamed: [
    ...claudeBegun.slice(0, 1),
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "SECRET" } },
    { type: "content_block_stop", index: 0 },
    { type: "ping" },
    ...claudeBegun.slice(1),
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "look." } },
    { type: "content_block_stop", index: 1 },
    {
      type: "content_block_start",
      index: 2,
      content_block: { type: "tool_use", id: "call_1", name: "look", input: {} },
    },
    {
      type: "content_block_delta",
      index: 2,
      delta: { type: "input_json_delta", partial_json: args.slice(0, 9) },
    },
    {
      type: "content_block_delta",
      index: 2,
      delta: { type: "input_json_delta", partial_json: args.slice(9) },
    },
    { type: "content_block_stop", index: 2 },
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 30 },
    },
    { type: "message_stop" },
  ],
};

const answers = {
  "openai chat": chat,
  "openai-compatible": chat,
  "openai responses": responses,
  anthropic,
} as const;

/** The same answer on every wire: reasoning if supported, some text, and a call of `look`. */
export function cannedAnswer(wire: Wire, way: Way): Canned {
  return { body: answers[wire][way] };
}

/** The beginning of that answer, and no more. */
export function cannedBeginning(wire: Wire, way: Way, after: "cut" | "hang" | "end"): Canned {
  return { body: way === "whole" ? '{"id": "1", "obj' : answers[wire].begun, after };
}

/** The same answer with arguments that are not JSON. */
export function cannedMalformed(): Canned {
  return {
    body: [
      ...chat.begun,
      chatChunk({ tool_calls: [{ index: 0, ...chatCall('{"question": "mi') }] }),
      chatChunk({}, "length"),
      "[DONE]",
    ],
  };
}
