import { agent, ChatMessage, redact, secret, type ModelRequest } from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { modelAnswering, look, price } from "./models.ts";

/** Returns a text as the model sees it. */
async function redactText(text: string): Promise<string> {
  const model = scriptedModel([say("done")]);
  const worker = agent({ name: "worker", model, middleware: { chat: [redact()] } });
  await using t = testRuntime({ agents: [worker], replay: false });
  await t.run(worker, text);
  return model.requests[0]?.messages.map(ChatMessage.text).join("") ?? "";
}

test.each([
  ["write to ann.b+c@mail.example.co.uk, please", "write to [email], please"],
  ["an @ sign, a@b, and x@ y", null],
  [`${"a".repeat(100)}@b.com-x@y.org.`, "[email]."],
  ["a@b.com, c@d@e.org_f@g.org", "[email], c@[email]"],
  ["call +49 30 901820 today", "call [phone] today"],
  ["call (030) 901 820 or 415-555-0132.", "call [phone] or [phone]."],
  ["in 1987, 40 of 2026-11-15, version 1.2.3", null],
  ["card 4111 1111 1111 1111!", "card [card]!"],
  ["card 4111-1111-1111-1112, by one wrong", null],
  ["order 123456789012345", null],
  ["IBAN DE89 3704 0044 0532 0130 00 IS MINE", "IBAN [iban] IS MINE"],
  ["pay GB82WEST12345698765432 now", "pay [iban] now"],
  ["GB82WEST12345698765431 is none", null],
  ["GB82 WEST 1234 5698 7654 32 GB82 WEST 1234 5698 7654 32", "[iban] [iban]"],
  ["sk-proj-abcdefghijklmnopqrstuv and AKIAIOSFODNN7EXAMPLE", "[key] and [key]"],
  ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[key]"],
  ["task-force, risk-averse, skating", null],
])("hides sensitive text and nothing else: %s", async (text, expected) => {
  expect(await redactText(text)).toBe(expected ?? text);
});

test("answers and tool results are also redacted", async () => {
  const model = scriptedModel([call("look", { question: "who" }), say("It is ann@example.com.")], { price });
  const tools = [look([], async () => "bob@example.com")];
  const middleware = { chat: [redact()], function: [redact()] };
  const worker = agent({ name: "worker", model, instructions: "Ask eve@example.com.", tools, middleware });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "completed", output: "It is [email]." });
  expect(JSON.stringify(model.requests)).not.toContain("example.com");
});

/** The placeholders in a text, in order. */
const placeholders = (text: string): readonly string[] => text.match(/\[email-[a-z0-9]{8}\]/g) ?? [];

const lastText = ({ messages }: ModelRequest): string => messages.map(ChatMessage.text).join("\n");

test("arguments are restored for tools that ask for it, and the model never sees the real values", async () => {
  const seen: string[] = [];
  const ask = (request: ModelRequest) => {
    const [, bob] = placeholders(lastText(request));
    return call("look", { question: `mail of ${bob}, not [email-00000000]` });
  };
  const model = modelAnswering(ask, (request) => say(`Told ${placeholders(lastText(request))[1]}.`));
  const middleware = { chat: [redact({ restore: "arguments" })] };
  const worker = agent({ name: "worker", model, tools: [look(seen)], middleware });
  await using t = testRuntime({ agents: [worker] });
  const result = await t.run(worker, "not ann@example.com but bob@example.com, again: bob@example.com");
  const [ann, bob, again] = placeholders(model.requests[0] ? lastText(model.requests[0]) : "");
  expect([ann === bob, again]).toEqual([false, bob]);
  expect(result.output).toBe(`Told ${bob}.`);
  expect(seen).toEqual(["mail of bob@example.com, not [email-00000000]"]);
  expect(JSON.stringify(model.requests)).not.toContain("example.com");
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain(`found mail of ${bob}`);
});

test("only the named tools get the real values", async () => {
  const seen: string[] = [];
  const model = modelAnswering(
    (request) => call("look", { question: placeholders(lastText(request))[0] ?? "" }),
    () => say("done"),
  );
  const middleware = { chat: [redact({ restore: "arguments", tools: ["send_email"] })] };
  const worker = agent({ name: "worker", model, tools: [look(seen)], middleware });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "ann@example.com");
  expect(seen).toEqual([expect.stringMatching(/^\[email-[a-z0-9]{8}\]$/)]);
});

test("parent and child use the same placeholder for a value and both restore it: no model ever sees it", async () => {
  const seen: string[] = [];
  const first = (request: ModelRequest): string => placeholders(lastText(request))[0] ?? "none";
  const middleware = { chat: [redact({ restore: "answers" })] };
  const childModel = modelAnswering(
    (request) => call("look", { question: first(request) }),
    (request) => say(`I wrote to ${first(request)}`),
  );
  const model = modelAnswering(
    (request) => call("ask_writer", { task: `write to ${first(request)}` }),
    (request) => say(`Done: ${first(request)}`),
  );
  const writer = agent({
    name: "writer",
    description: "writes",
    model: childModel,
    tools: [look(seen)],
    middleware,
  });
  const lead = agent({ name: "lead", model, team: [writer], middleware });
  await using t = testRuntime({ agents: [lead] });
  const result = await t.run(lead, "Write to ann@example.com.");
  expect([result.output, seen]).toEqual(["Done: ann@example.com", ["ann@example.com"]]);
  const told = [...model.requests, ...childModel.requests].map(lastText);
  expect(new Set(told.flatMap(placeholders)).size).toBe(1);
  expect(told.join("")).not.toContain("ann@");
});

test("with a key the turns of a conversation use the same placeholder for a value, and tenants use different ones", async () => {
  const options = { restore: "arguments", key: secret("a key of the program") } as const;
  const name = async (tenant: string): Promise<string> => {
    const model = scriptedModel([say("done")]);
    const worker = agent({ name: "worker", model, middleware: { chat: [redact(options)] } });
    await using t = testRuntime({ agents: [worker], replay: false });
    await t.run(worker, "ann@example.com", { tenant });
    return model.requests.map(lastText).join("");
  };
  const [one, again, other] = [await name("acme"), await name("acme"), await name("other")];
  expect([one, one === other]).toEqual([again, false]);
});

test("a custom pattern replaces the built-in patterns", async () => {
  const model = scriptedModel([say("done")]);
  const patterns = [{ name: "case", looks: /\bcase-\d{1,9}\b/ }];
  const worker = agent({ name: "worker", model, middleware: { chat: [redact({ patterns })] } });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "case-1 and case-22 of a@b.example");
  expect(model.requests[0]?.messages).toEqual([ChatMessage.user("[case] and [case] of a@b.example")]);
});
