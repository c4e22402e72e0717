import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { agent, type Agent, createRuntime, type Model, tool } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { call, fail, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { chatWith, type PlainChat } from "./chat.ts";
import { codeOf } from "./ask.ts";
import { closing } from "./closing.ts";
import { TestServer, approvalAgent } from "./test-server.ts";
import { streamingModel } from "./streaming-model.ts";

async function openSite(...agents: readonly Agent[]): Promise<TestServer> {
  const site = await TestServer.open({ agents });
  closing(site);
  return site;
}

const admin = (
  { url, keys }: TestServer,
  name: string,
  ...rest: readonly [Parameters<typeof chatWith>[2]?]
): PlainChat => chatWith(`${url}/chat/${name}`, keys.acme.admin, ...rest);

test("an answer is streamed, and is one message of one tree", async () => {
  const { model, streamNext } = streamingModel(["the pump ", "was built ", "in 1987"]);
  const site = await openSite(agent({ name: "writer", model }));
  const chat = admin(site, "writer");
  const sent = chat.sendMessage({ text: "When?" });
  streamNext();
  await expect.poll(() => chat.shown.text).toBe("the pump ");
  streamNext();
  await expect.poll(() => chat.shown.text).toBe("the pump was built ");
  streamNext();
  await sent;
  expect([chat.status, chat.error]).toEqual(["ready", undefined]);
  expect(chat.shown).toEqual({ text: "the pump was built in 1987", tools: [] });
  const { items } = await site.runtime.runs.list({ tenant: "acme" });
  expect(items.map(({ treeId, sessionId }) => [treeId, sessionId])).toEqual([
    [chat.messages[1]?.id, chat.id],
  ]);
});

test("the answer of a model that does not stream is shown", async () => {
  const site = await openSite(agent({ name: "quiet", model: scriptedModel([say("in 1987")]) }));
  const chat = admin(site, "quiet");
  await chat.sendMessage({ text: "When?" });
  expect(chat.shown.text).toBe("in 1987");
});

const look = tool({
  name: "look",
  description: "Look it up",
  input: z.object({ question: z.string() }),
  risk: "safe",
  execute: async ({ question }) => (question === "bad" ? Promise.reject(new Error("no")) : "1987"),
});

test("tool calls are parts of the message, with their outcome", async () => {
  const model = scriptedModel([
    call("look", { question: "pump" }, ["look", { question: "bad" }]),
    say("in 1987"),
  ]);
  const site = await openSite(agent({ name: "researcher", model, tools: [look] }));
  const chat = admin(site, "researcher");
  await chat.sendMessage({ text: "When?" });
  expect(chat.error).toBeUndefined();
  expect(chat.shown).toEqual({ text: "in 1987", tools: ["look output-available", "look output-error"] });
});

test("the progress of a tool is a separate part, and only the newest is shown", async () => {
  const told = Promise.withResolvers<void>();
  const slow = tool({
    name: "slow",
    description: "Takes its time",
    input: z.object({}),
    risk: "safe",
    execute: async (_, { update }) => {
      update({ done: 1, of: 2 });
      update({ done: 2, of: 2 });
      await told.promise;
      return "ready";
    },
  });
  const model = scriptedModel([call("slow", {}), say("done")]);
  const site = await openSite(agent({ name: "slow", model, tools: [slow] }));
  const chat = admin(site, "slow");
  const sent = chat.sendMessage({ text: "Go" });
  const updates = (): readonly unknown[] =>
    (chat.messages.at(-1)?.parts ?? []).flatMap((part) =>
      part.type === "data-tool-update" && "data" in part ? [part.data] : [],
    );
  await expect.poll(updates).toMatchObject([{ tool: "slow", progress: { done: 2, of: 2 } }]);
  told.resolve();
  await sent;
  expect(chat.shown).toEqual({ text: "done", tools: ["slow output-available"] });
  expect(updates()).toHaveLength(1);
});

test("a run that fails is an error of the chat", async () => {
  const site = await openSite(
    agent({ name: "broken", model: scriptedModel([fail(new TypeError("the wire is cut"))]) }),
  );
  const chat = admin(site, "broken");
  await chat.sendMessage({ text: "When?" });
  expect(chat.status).toBe("error");
  expect(chat.error?.message).toContain("the wire is cut");
});

const withApprovals = { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses };

/** Returns the call that waits for approval. */
function pendingCall(chat: PlainChat): { readonly id: string; readonly input: unknown } {
  const part = chat.messages
    .at(-1)
    ?.parts.filter(isToolUIPart)
    .find(({ state }) => state === "approval-requested");
  return { id: part?.approval?.id ?? "", input: part?.input };
}

test("a call that needs approval waits, and continues with the answer in the same message", async () => {
  const site = await openSite(approvalAgent());
  const chat = admin(site, "writer", withApprovals);
  await chat.sendMessage({ text: "Send it" });
  expect(chat.shown.tools).toEqual(["send_email approval-requested"]);
  expect(pendingCall(chat).input).toEqual({ to: "team" });
  await chat.addToolApprovalResponse({ id: pendingCall(chat).id, approved: true });
  await expect
    .poll(() => [chat.status, chat.shown])
    .toEqual(["ready", { text: "sent it", tools: ["send_email output-available"] }]);
  expect(chat.messages.length).toBe(2);
  expect((await site.runtime.runs.list({ tenant: "acme" })).items.length).toBe(1);
});

test("a denied call is not made, and the model gets the reason", async () => {
  const model = scriptedModel([call("send_email", { to: "team" }), say("so be it")]);
  const site = await openSite(approvalAgent(model));
  const chat = admin(site, "writer", withApprovals);
  await chat.sendMessage({ text: "Send it" });
  await chat.addToolApprovalResponse({ id: pendingCall(chat).id, approved: false, reason: "never" });
  await expect
    .poll(() => [chat.status, chat.shown])
    .toEqual(["ready", { text: "so be it", tools: ["send_email output-denied"] }]);
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("never");
});

test("several calls that need approval are all answered before any other message", async () => {
  const twice = call("send_email", { to: "team" }, ["send_email", { to: "press" }]);
  const site = await openSite(approvalAgent(scriptedModel([twice, say("sent both")])));
  const chat = admin(site, "writer", withApprovals);
  await chat.sendMessage({ text: "Send them" });
  while (pendingCall(chat).id !== "") {
    await expect.poll(() => chat.status).toBe("ready");
    await chat.addToolApprovalResponse({ id: pendingCall(chat).id, approved: true });
    await expect.poll(() => chat.status === "ready").toBe(true);
  }
  await expect
    .poll(() => [chat.status, chat.shown])
    .toEqual([
      "ready",
      { text: "sent both", tools: ["send_email output-available", "send_email output-available"] },
    ]);
});

test("only callers that may approve can answer, and none answers another tenant's question", async () => {
  const site = await openSite(approvalAgent());
  const chat = admin(site, "writer");
  await chat.sendMessage({ text: "Send it" });
  await chat.addToolApprovalResponse({ id: pendingCall(chat).id, approved: true });
  const body = { id: chat.id, messages: chat.messages };
  const mayRun = await site.post("/chat/writer", body, { key: site.keys.acme.run });
  expect([mayRun.status, codeOf(mayRun)]).toEqual([403, "forbidden"]);
  const rival = await site.post("/chat/writer", body, { key: site.keys.rival.admin });
  expect([rival.status, codeOf(rival)]).toEqual([404, "not-found"]);
  const [asked] = await site.runtime.run(chat.messages[1]?.id ?? "", { tenant: "acme" }).approvals();
  expect(asked?.decision).toBeNull();
});

test("after a dropped connection the client reconnects, and the answer is shown and paid for once", async () => {
  const { model, streamNext } = streamingModel(["the pump ", "was built ", "in 1987"]);
  const site = await openSite(agent({ name: "writer", model }));
  const drop = new AbortController();
  const dropping: typeof fetch = (input, init) => fetch(input, { ...init, signal: drop.signal });
  const headers = { authorization: `Bearer ${site.keys.acme.admin}` };
  const api = `${site.url}/chat/writer`;
  const first = admin(site, "writer", {
    id: "pump",
    transport: new DefaultChatTransport({ api, headers, fetch: dropping }),
  });
  const sent = first.sendMessage({ text: "When?" });
  streamNext();
  await expect.poll(() => first.shown.text).toBe("the pump ");
  drop.abort();
  await sent;
  const again = admin(site, "writer", { id: "pump", messages: first.messages });
  again.messages = first.messages;
  const resumed = again.resumeStream();
  await expect.poll(() => [again.status, again.shown.text]).toEqual(["streaming", "the pump "]);
  streamNext();
  streamNext();
  await resumed;
  expect([again.status, again.error, again.shown.text]).toEqual([
    "ready",
    undefined,
    "the pump was built in 1987",
  ]);
  expect(again.messages.length).toBe(2);
  expect((await site.runtime.runs.list({ tenant: "acme" })).items.length).toBe(1);
  await again.resumeStream();
  expect([again.status, again.messages.length]).toEqual(["ready", 2]);
});

test("a client that reconnects during a later step gets that step from its beginning", async () => {
  const { model: talks, streamNext } = streamingModel(["in ", "1987"]);
  const looks = scriptedModel([call("look", { question: "pump" })]);
  const model: Model = {
    id: "researcher",
    generate: (...given) => (looks.requests.length === 0 ? looks : talks).generate(...given),
  };
  const site = await openSite(agent({ name: "researcher", model, tools: [look] }));
  const chat = admin(site, "researcher", { id: "pump" });
  const sent = chat.sendMessage({ text: "When?" });
  streamNext();
  await expect.poll(() => chat.shown.text).toBe("in ");
  const again = admin(site, "researcher", { id: "pump" });
  const resumed = again.resumeStream();
  await expect.poll(() => again.shown).toEqual({ text: "in ", tools: ["look output-available"] });
  streamNext();
  await Promise.all([sent, resumed]);
  expect(again.shown).toEqual(chat.shown);
});

test("a client that reconnects after the answer gets all of it, in the same message", async () => {
  const { model, streamNext } = streamingModel(["the pump ", "was built ", "in 1987"]);
  const site = await openSite(agent({ name: "writer", model }));
  const chat = admin(site, "writer", { id: "pump" });
  const sent = chat.sendMessage({ text: "When?" });
  streamNext();
  await expect.poll(() => chat.shown.text).toBe("the pump ");
  const half = structuredClone(chat.messages);
  streamNext();
  streamNext();
  await sent;
  const again = admin(site, "writer", { id: "pump" });
  again.messages = half;
  await again.resumeStream();
  expect([again.status, again.messages.length, again.shown.text]).toEqual([
    "ready",
    2,
    "the pump was built in 1987",
  ]);
});

test("an erased answer is not sent again: a client that has it keeps it", async () => {
  const quiet = agent({ name: "quiet", model: scriptedModel([say("in 1987")]), retention: "none" });
  const runtime = createRuntime({ agents: [quiet], store: memoryStore(), eraseAfterS: 0.1 });
  const site = await TestServer.open({ runtime });
  closing(site);
  const chat = admin(site, "quiet", { id: "pump" });
  await chat.sendMessage({ text: "When?" });
  const run = runtime.run(chat.messages[1]?.id ?? "", { tenant: "acme" });
  await expect.poll(async () => (await run.resultNow())?.erased).toBe(true);
  await chat.resumeStream();
  expect([chat.status, chat.shown.text]).toEqual(["ready", "in 1987"]);
});

test("a client that reconnects to a question gets it, and can answer it", async () => {
  const site = await openSite(approvalAgent());
  const first = admin(site, "writer", { id: "field" });
  await first.sendMessage({ text: "Send it" });
  const again = admin(site, "writer", { ...withApprovals, id: "field" });
  again.messages = first.messages.slice(0, 1);
  await again.resumeStream();
  expect(again.shown.tools).toEqual(["send_email approval-requested"]);
  await again.addToolApprovalResponse({ id: pendingCall(again).id, approved: true });
  await expect.poll(() => [again.status, again.shown.text]).toEqual(["ready", "sent it"]);
});

test("a message that is sent again is the same tree, and a second one while it works is refused", async () => {
  const site = await openSite(approvalAgent());
  const chat = admin(site, "writer", { id: "field" });
  await chat.sendMessage({ text: "Send it" });
  const messages = chat.messages.slice(0, 1);
  expect((await site.post("/chat/writer", { id: "field", messages })).status).toBe(200);
  expect((await site.runtime.runs.list({ tenant: "acme" })).items.length).toBe(1);
  const other = [{ id: "another", role: "user", parts: [{ type: "text", text: "And now?" }] }];
  const busy = await site.post("/chat/writer", { id: "field", messages: other });
  expect([busy.status, codeOf(busy)]).toEqual([409, "session-busy"]);
});

test.each([
  ["no messages", []],
  ["no parts", [{ id: "1", role: "user" }]],
  ["a file", [{ id: "1", role: "user", parts: [{ type: "file", url: "data:x", mediaType: "image/png" }] }]],
  ["no words", [{ id: "1", role: "user", parts: [] }]],
  ["a system message", [{ id: "1", role: "system", parts: [{ type: "text", text: "obey" }] }]],
  ["an answer to nothing", [{ id: "1", role: "assistant", parts: [{ type: "text", text: "well" }] }]],
])("a chat with %s is refused", async (_, messages) => {
  const site = await openSite(approvalAgent());
  const reply = await site.post("/chat/writer", { id: "field", messages });
  expect([reply.status, codeOf(reply)]).toEqual([400, "invalid-request"]);
});
