import { expect, test } from "vitest";
import {
  answers,
  type Fault,
  type FaultKind,
  type FakeProvider,
} from "../../src/testing/fake-provider/index.ts";
import {
  ask,
  everyWay,
  everyWayWith,
  failure,
  look,
  openDouble,
  parts,
  providers,
  realModel,
  user,
} from "./real-providers.ts";

const answer = {
  text: "The pump stands by the river.",
  toolCalls: [{ name: "look", input: { question: "pump" } }],
} as const;

const withFault = (fault: Fault | FaultKind): Promise<FakeProvider> =>
  openDouble({ script: answers([{ ...answer, fault }]) });

const terminated = {
  name: "AI_APICallError",
  statusCode: 200,
  isRetryable: true,
  cause: { message: "terminated", cause: { code: "UND_ERR_SOCKET" } },
};

test.each(everyWayWith([0, 1, 150, 400]))(
  "$name, $mode: a body cut after $value bytes is a failure with status 200, and billed",
  async ({ name, mode, value }) => {
    const double = await withFault({ kind: "cut", afterBytes: value });
    expect(await failure(ask(realModel(name, double), mode, { tools: [look] }))).toMatchObject(terminated);
    expect(double.bill.entries).toMatchObject([{ outcome: "cut", billed: true }]);
    expect(double.bill.total().outputTokens).toBeGreaterThan(0);
  },
);

test.each(everyWay)(
  "$name, $mode: work that is done and then lost is a reset connection, and billed",
  async ({ name, mode }) => {
    const double = await withFault("executed-then-reset");
    const error = await failure(ask(realModel(name, double), mode, { tools: [look] }));
    expect(error).toMatchObject({ isRetryable: true, cause: { code: "ECONNRESET" } });
    expect(error).not.toHaveProperty("statusCode", expect.any(Number));
    expect(double.bill.entries).toMatchObject([{ outcome: "executed-then-reset", billed: true }]);
    expect(double.bill.total().outputTokens).toBeGreaterThan(0);
  },
);

test.each(everyWayWith([undefined, 0, 200]))(
  "$name, $mode: an answer that stalls after $value bytes ends with the caller's timeout, and is billed",
  async ({ name, mode, value }) => {
    const double = await withFault({ kind: "hang", afterBytes: value });
    const patience = new AbortController();
    const options = { tools: [look], abortSignal: patience.signal };
    const call = failure(ask(realModel(name, double), mode, options));
    await double.inFlight.reaches(1);
    patience.abort(new DOMException("enough", "AbortError"));
    expect(await call).toMatchObject({ name: "AbortError", message: "enough" });
    expect(double.bill.entries).toMatchObject([{ outcome: "hang", billed: true }]);
  },
);

test.each(everyWay)("$name, $mode: a slow answer arrives complete", async ({ name, mode }) => {
  const double = await withFault({ kind: "slow", bytes: 97, everyMs: 1 });
  const heard = await ask(realModel(name, double), mode, { tools: [look] });
  expect(heard).toMatchObject({ text: answer.text, calls: [{ input: '{"question":"pump"}' }] });
});

test.each(everyWay)(
  "$name, $mode: an answer stopped by a content filter is returned",
  async ({ name, mode }) => {
    const double = await withFault("content-filter");
    const heard = await ask(realModel(name, double), mode, { tools: [look] });
    expect(heard).toMatchObject({ finishReason: "content-filter", calls: [], errors: [] });
  },
);

test.each(everyWay)("$name, $mode: tool arguments that are not JSON are returned", async ({ name, mode }) => {
  const double = await withFault("malformed-arguments");
  const heard = await ask(realModel(name, double), mode, { tools: [look] });
  const broken = name === "anthropic" && mode === "generate" ? "{}" : '{"question';
  expect(heard).toMatchObject({ finishReason: "tool-calls", calls: [{ name: "look", input: broken }] });
});

test.each(
  everyWayWith([
    { form: "negative", figure: -1 },
    { form: "huge", figure: 1e15 },
  ] as const),
)(
  "$name, $mode: usage may be wrong ($value.form) while the bill is correct",
  async ({ name, mode, value: { form, figure } }) => {
    const double = await withFault({ kind: "absurd-usage", form });
    const { usage } = await ask(realModel(name, double), mode, { tools: [look] });
    expect([usage?.inputTokens.total, usage?.outputTokens.total]).toEqual([figure, figure]);
    expect(double.bill.total().inputTokens).toBeGreaterThan(0);
    expect(double.bill.total().inputTokens).toBeLessThan(1_000);
  },
);

test.each(providers)(
  "not streamed, %s: a body that is not JSON fails with status 200 and no hope",
  async (name) => {
    const double = await withFault("malformed-body");
    expect(await failure(ask(realModel(name, double), "generate"))).toMatchObject({
      statusCode: 200,
      isRetryable: false,
      message: "Invalid JSON response",
      cause: { name: "AI_JSONParseError" },
    });
    expect(double.bill.total().billed).toBe(1);
  },
);

test.each(providers)(
  "not streamed, %s: usage that is not a number fails the whole call, which is billed",
  async (name) => {
    const double = await withFault({ kind: "absurd-usage", form: "not-a-number" });
    expect(await failure(ask(realModel(name, double), "generate"))).toMatchObject({
      statusCode: 200,
      cause: { name: "AI_TypeValidationError" },
    });
    expect(double.bill.total().billed).toBe(1);
  },
);

test.each(["chat", "responses", "compatible"] as const)(
  "not streamed, %s: usage may be missing",
  async (name) => {
    const double = await withFault("missing-usage");
    const { usage, text } = await ask(realModel(name, double), "generate");
    expect(text).toBe(answer.text);
    expect([usage?.inputTokens.total, usage?.outputTokens.total]).toEqual([undefined, undefined]);
  },
);

test("not streamed, anthropic: missing usage fails the whole call, which is billed", async () => {
  const double = await withFault("missing-usage");
  const error = await failure(ask(realModel("anthropic", double), "generate"));
  expect(error).toMatchObject({ statusCode: 200, cause: { name: "AI_TypeValidationError" } });
  expect(double.bill.total().billed).toBe(1);
});

test("not streamed, anthropic: there is no stream to be overloaded in, so the call is refused", async () => {
  const double = await withFault("overloaded-stream");
  expect(await failure(ask(realModel("anthropic", double), "generate"))).toMatchObject({ statusCode: 529 });
  expect(double.bill.entries).toMatchObject([{ outcome: "overloaded", billed: false }]);
});

const call = { prompt: user("Where is the pump?"), tools: [look] };

test.each(providers)("%s: an overload within a stream is an error part with a plain object", async (name) => {
  const double = await withFault({ kind: "overloaded-stream", afterEvents: 5 });
  const heard = await ask(realModel(name, double), "stream", call);
  expect(heard.errors).toMatchObject([{ message: expect.stringMatching(/overloaded/i) }]);
  expect(heard.errors[0]).not.toBeInstanceOf(Error);
  expect(heard.finishReason).toBe(name === "anthropic" ? null : "error");
  expect(heard.errors[0]).toMatchObject(
    {
      chat: { statusCode: 503, isRetryable: true, code: "server_is_overloaded" },
      responses: { statusCode: 503, isRetryable: true, code: "server_is_overloaded" },
      anthropic: { statusCode: 529, isRetryable: true, type: "overloaded_error" },
      compatible: { code: "server_is_overloaded" },
    }[name],
  );
  expect(double.bill.entries).toMatchObject([{ outcome: "overloaded-stream", billed: true }]);
});

test.each([
  ["chat", 503],
  ["responses", 503],
  ["anthropic", 529],
] as const)("streamed, %s: overload as the first event is thrown", async (name, statusCode) => {
  const double = await withFault({ kind: "overloaded-stream", afterEvents: 0 });
  const error = await failure(ask(realModel(name, double), "stream", call));
  expect(error).toMatchObject({ name: "AI_APICallError", statusCode, isRetryable: true });
});

test("streamed, chat: an overload inside a tool call leaves a call without arguments", async () => {
  const double = await openDouble({
    script: answers([{ toolCalls: answer.toolCalls, fault: { kind: "overloaded-stream", afterEvents: 2 } }]),
  });
  const heard = await ask(realModel("chat", double), "stream", call);
  expect(heard).toMatchObject({ finishReason: "error", calls: [{ name: "look", input: "" }] });
});

test.each([
  ["chat", "interrupted", 0],
  ["responses", "interrupted", 0],
  ["anthropic", "interrupted", 0],
  ["compatible", "error", 1],
] as const)(
  "streamed, %s: a stream that ends normally but too soon is %s",
  async (name, finishReason, errors) => {
    const double = await withFault({ kind: "cut", afterBytes: 1_500, ending: "finish" });
    const heard = await ask(realModel(name, double), "stream", call);
    expect(heard.finishReason).toBe(finishReason);
    expect(heard.errors).toHaveLength(errors);
    expect(heard.usage?.outputTokens.total).toBeUndefined();
  },
);

test("streamed, anthropic: a stream that closes before its first token ends without a finish or an error", async () => {
  const double = await withFault({ kind: "cut", afterBytes: 420, ending: "finish" });
  const list = await parts(realModel("anthropic", double), call);
  expect(list.map(({ type }) => type)).toEqual(["stream-start", "response-metadata", "custom"]);
});

test("streamed, anthropic: a broken event is an error part, and the finish part still reports success", async () => {
  const text = answer.text.repeat(5);
  const double = await openDouble({ script: answers([{ text, fault: "malformed-body" }]) });
  const heard = await ask(realModel("anthropic", double), "stream", call);
  expect(heard).toMatchObject({ finishReason: "stop", errors: [{ name: "AI_JSONParseError" }] });
  expect(heard.text.length).toBeLessThan(text.length);
});

test.each(["chat", "responses", "compatible"] as const)(
  "streamed, %s: usage may be missing",
  async (name) => {
    const double = await withFault("missing-usage");
    const { usage } = await ask(realModel(name, double), "stream", call);
    expect([usage?.inputTokens.total, usage?.outputTokens.total]).toEqual([undefined, undefined]);
  },
);

test("streamed, anthropic: missing usage throws an error that cannot be classified", async () => {
  const double = await withFault("missing-usage");
  const error = await failure(ask(realModel("anthropic", double), "stream", call));
  expect(error).toMatchObject({ name: "Error", message: "Expected a normalized Anthropic stream error" });
  expect(double.bill.total().billed).toBe(1);
});

test.each(["chat", "responses", "compatible"] as const)(
  "%s: usage that is not a number is an error part",
  async (name) => {
    const double = await withFault({ kind: "absurd-usage", form: "not-a-number" });
    const heard = await ask(realModel(name, double), "stream", call);
    expect(heard).toMatchObject({ finishReason: "error", errors: [{ name: "AI_TypeValidationError" }] });
  },
);
