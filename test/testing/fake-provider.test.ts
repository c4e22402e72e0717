import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import {
  answers,
  byModel,
  type ProviderRequest,
  echo,
  type FakeProvider,
} from "../../src/testing/fake-provider/index.ts";
import { call as callTool, fail, say } from "../../src/testing/scripted-model.ts";
import {
  ask,
  everyWay,
  everyWayWith,
  failure,
  type Heard,
  look,
  openDouble,
  realModel,
  user,
} from "./real-providers.ts";

/** The last entry of the bill, in the terms of an AI SDK usage. */
function lastUsageOnBill({ bill }: FakeProvider): object {
  const {
    inputTokens = 0,
    outputTokens = 0,
    cachedTokens = 0,
    reasoningTokens = 0,
  } = bill.entries.at(-1) ?? {};
  return {
    inputTokens: { total: inputTokens, noCache: inputTokens - cachedTokens, cacheRead: cachedTokens },
    outputTokens: { total: outputTokens, text: outputTokens - reasoningTokens, reasoning: reasoningTokens },
  };
}

/** The messages after a tool call: the call itself, and its result. */
function answerCall({ calls }: Heard, result: string): LanguageModelV4CallOptions["prompt"] {
  const [call = { id: "", name: "", input: "{}" }] = calls;
  const toolCall = { type: "tool-call", toolCallId: call.id, toolName: call.name } as const;
  const toolResult = { type: "tool-result", toolCallId: call.id, toolName: call.name } as const;
  return [
    { role: "assistant", content: [{ ...toolCall, input: JSON.parse(call.input) }] },
    { role: "tool", content: [{ ...toolResult, output: { type: "text", value: result } }] },
  ];
}

test.each(everyWay)("$name, $mode: a client gets the script's text", async ({ name, mode }) => {
  const double = await openDouble({
    script: answers(["The pump stands by the river. 装置は川のほとりに。"]),
  });
  const heard = await ask(realModel(name, double), mode);
  expect(heard.text).toBe("The pump stands by the river. 装置は川のほとりに。");
  expect(heard.finishReason).toBe("stop");
  expect(heard.calls).toEqual([]);
});

test.each(everyWay)(
  "$name, $mode: a client calls a tool, sends its result and gets it in the answer",
  async ({ name, mode }) => {
    const double = await openDouble();
    const model = realModel(name, double);
    const prompt = user('Please\ncall look {"question": "pump"}');
    const first = await ask(model, mode, { prompt, tools: [look] });
    expect(first.calls).toEqual([{ id: expect.any(String), name: "look", input: '{"question":"pump"}' }]);
    expect(first.finishReason).toBe("tool-calls");
    const next = [...prompt, ...answerCall(first, "by the river")];
    const second = await ask(model, mode, { prompt: next, tools: [look] });
    expect(second).toMatchObject({ text: "by the river", calls: [], finishReason: "stop" });
  },
);

test.each(everyWay)(
  "$name, $mode: a scripted model's answers, calls and failures are served",
  async ({ name, mode }) => {
    const script = answers([
      callTool("look", { question: "Lisbon" }),
      say("By the river."),
      fail(new Error("no")),
    ]);
    const model = realModel(name, await openDouble({ script }));
    const first = await ask(model, mode, { tools: [look] });
    expect(first).toMatchObject({ text: "", finishReason: "tool-calls", calls: [{ name: "look" }] });
    expect(await ask(model, mode)).toMatchObject({ text: "By the river.", finishReason: "stop", calls: [] });
    expect(await failure(ask(model, mode))).toMatchObject({ statusCode: 500 });
  },
);

test.each(everyWay)("$name, $mode: a client reads exactly the usage on the bill", async ({ name, mode }) => {
  const script = answers([{ reasoning: "I know this one.", text: "By the river.", cachedTokens: 4 }]);
  const double = await openDouble({ script });
  const heard = await ask(realModel(name, double), mode, { tools: [look] });
  expect(heard.usage).toMatchObject(lastUsageOnBill(double));
  expect(double.bill.entries).toMatchObject([
    { cachedTokens: 4, reasoningTokens: 5, billed: true, outcome: "answered" },
  ]);
});

test.each(everyWay)("$name, $mode: reasoning is sent if the protocol has it", async ({ name, mode }) => {
  const double = await openDouble({ script: answers([{ reasoning: "I know this one.", text: "River." }]) });
  const heard = await ask(realModel(name, double), mode);
  expect(heard.reasoning).toBe(name === "chat" ? "" : "I know this one.");
});

test.each(everyWay)(
  "$name, $mode: hidden reasoning counts as reasoning within the limit",
  async ({ name, mode }) => {
    const double = await openDouble({ script: answers([{ text: "River.", outputTokens: 300 }]) });
    const model = realModel(name, double);
    const free = await ask(model, mode);
    expect(free.usage?.outputTokens).toEqual({ total: 300, text: 3, reasoning: 297 });
    const limited = await ask(model, mode, { maxOutputTokens: 20 });
    expect(limited).toMatchObject({ text: "", finishReason: "length" });
    expect(limited.usage?.outputTokens).toEqual({ total: 20, text: 0, reasoning: 20 });
  },
);

test.each(everyWayWith([16, 17, 40]))(
  "$name, $mode: a client gets exactly $value tokens if that is the limit",
  async ({ name, mode, value: maxOutputTokens }) => {
    const text = "The pump, built in 1812, stands by the river; 装置は川のほとりに立っています。".repeat(3);
    const double = await openDouble({ script: answers([text]) });
    const heard = await ask(realModel(name, double), mode, { maxOutputTokens });
    expect(heard.finishReason).toBe("length");
    expect(heard.usage?.outputTokens.total).toBe(maxOutputTokens);
    expect(double.bill.total().outputTokens).toBe(maxOutputTokens);
    expect(text.startsWith(heard.text) && heard.text.length < text.length).toBe(true);
  },
);

test.each(everyWay)(
  "$name, $mode: a tool call that does not fit is cut, and the finish reason reports it",
  async ({ name, mode }) => {
    const input = { question: "Where does the pump stand, and who built it, and when?" };
    const double = await openDouble({ script: answers([{ toolCalls: [{ name: "look", input }] }]) });
    const heard = await ask(realModel(name, double), mode, { tools: [look], maxOutputTokens: 16 });
    expect(heard).toMatchObject({ finishReason: "length", calls: [{ name: "look" }] });
    const whole = JSON.stringify(input);
    const cut =
      name === "anthropic" && mode === "generate" ? "{}" : whole.slice(0, heard.calls[0]?.input.length);
    expect(heard.calls[0]?.input).toBe(cut);
    expect(cut.length).toBeLessThan(whole.length);
  },
);

const call = { toolCallId: "c1", toolName: "look" };

const conversation: LanguageModelV4CallOptions["prompt"] = [
  { role: "system", content: "Be brief." },
  ...user("Look."),
  {
    role: "assistant",
    content: [
      { type: "text", text: "I look." },
      { type: "tool-call", ...call, input: { question: "a" } },
      { type: "tool-call", ...call, toolCallId: "c2", input: { question: "b" } },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", ...call, output: { type: "text", value: "one" } },
      { type: "tool-result", ...call, toolCallId: "c2", output: { type: "text", value: "two" } },
    ],
  },
  ...user("Well?"),
];

const messages: ProviderRequest["messages"] = [
  { role: "user", parts: [{ type: "text", text: "Look." }] },
  {
    role: "assistant",
    parts: [
      { type: "text", text: "I look." },
      { type: "tool-call", callId: "c1", name: "look", input: { question: "a" } },
      { type: "tool-call", callId: "c2", name: "look", input: { question: "b" } },
    ],
  },
  {
    role: "tool",
    parts: [
      { type: "tool-result", callId: "c1", text: "one", isError: false },
      { type: "tool-result", callId: "c2", text: "two", isError: false },
    ],
  },
  { role: "user", parts: [{ type: "text", text: "Well?" }] },
];

test.each(everyWay)(
  "$name, $mode: the script gets the same request over every protocol",
  async ({ name, mode }) => {
    const asked: ProviderRequest[] = [];
    const double = await openDouble({ script: (request) => (asked.push(request), { text: "So be it." }) });
    await ask(realModel(name, double), mode, {
      maxOutputTokens: 99,
      tools: [look],
      headers: { "X-Reeve-Run": "run-1", "x-reeve-attempt": "attempt-1" },
      prompt: conversation,
    });
    const streamed = mode === "stream";
    expect(asked).toMatchObject([
      {
        model: "double-1",
        system: "Be brief.",
        streamed,
        maxOutputTokens: 99,
        headers: { "x-reeve-run": "run-1" },
        tools: [{ name: "look", description: "Looks something up", inputSchema: { type: "object" } }],
        messages,
      },
    ]);
    expect(double.bill.entries).toMatchObject([{ key: "attempt-1", run: "run-1", streamed }]);
  },
);

test("the command script calls in steps, skips tools that are not offered, and repeats every result", async () => {
  const double = await openDouble();
  const model = realModel("anthropic", double);
  const prompt = user('call look {"question": "pump"}\ncall fly\nthen call look {"question": "river"}');
  const first = await ask(model, "generate", { prompt, tools: [look] });
  expect(first.calls.map(({ input }) => input)).toEqual(['{"question":"pump"}']);
  const second = [...prompt, ...answerCall(first, "by the river")];
  const next = await ask(model, "generate", { prompt: second, tools: [look] });
  expect(next.calls.map(({ input }) => input)).toEqual(['{"question":"river"}']);
  const third = [...second, ...answerCall(next, "in the valley"), ...user("Hurry up.")];
  expect((await ask(model, "generate", { prompt: third, tools: [look] })).text).toBe(
    "by the river\nin the valley",
  );
  expect((await ask(model, "generate", { prompt: second, tools: [] })).text).toBe("by the river");
  expect((await ask(model, "generate", { prompt: user("Just talk.") })).text).toBe("Just talk.");
});

test("a list of answers is used in order, and its last answer repeats", async () => {
  const double = await openDouble({ script: answers(["one", { text: "two" }]) });
  const model = realModel("chat", double);
  const heard = [await ask(model, "generate"), await ask(model, "stream"), await ask(model, "generate")];
  expect(heard.map(({ text }) => text)).toEqual(["one", "two", "two"]);
});

test("each model has its own script, and a model without one is not found", async () => {
  const double = await openDouble({ script: byModel({ big: answers(["I am big"]), small: echo() }) });
  expect((await ask(realModel("chat", double, "big"), "generate")).text).toBe("I am big");
  expect((await ask(realModel("chat", double, "small"), "generate")).text).toBe("Where is the pump?");
  expect(await failure(ask(realModel("chat", double, "none"), "generate"))).toMatchObject({
    statusCode: 404,
  });
});

test("a script that throws fails the request with the reason", async () => {
  const double = await openDouble({
    script: () => {
      throw new Error("no such scene");
    },
  });
  const error = await failure(ask(realModel("responses", double), "generate"));
  expect(error).toMatchObject({ statusCode: 500, message: expect.stringContaining("no such scene") });
  expect(double.bill.entries).toMatchObject([{ outcome: "script-failed", billed: false, inputTokens: 0 }]);
});
