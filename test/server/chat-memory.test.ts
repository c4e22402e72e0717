import type { UIMessage } from "ai";
import { agent, type Agent, ChatMessage, Json, type Model, tool } from "reeve";
import { isJsonObject, type JsonObject } from "#kernel";
import { call, scriptedModel, say } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { chatWith, type PlainChat } from "./chat.ts";
import { codeOf } from "./ask.ts";
import { closing } from "./closing.ts";
import { TestServer, approvalAgent } from "./test-server.ts";
import { streamingModel } from "./streaming-model.ts";

/** Answers with all user messages, and the number of the answer. Fails if the newest message is `fail`. */
function echoAgent(): Agent {
  let answers = 0;
  const model: Model = {
    id: "echo",
    generate: async ({ messages }) => {
      const said = messages.filter(({ role }) => role === "user").map((message) => ChatMessage.text(message));
      answers += 1;
      if (said.at(-1) === "fail" && answers < 3) throw new TypeError("it fails");
      const message = ChatMessage.assistant(`${said.join(" + ")} #${answers}`);
      return { message, usage: { input: 1, output: 1 }, finishReason: "stop" };
    },
  };
  return agent({ name: "echo", model });
}

const open = async (...agents: readonly Agent[]): Promise<TestServer> =>
  closing(await TestServer.open({ agents }));

const chatIn = ({ url, keys }: TestServer, name: string, messages: UIMessage[] = []): PlainChat => {
  const chat = chatWith(`${url}/chat/${name}`, keys.acme.admin, { id: "pump" });
  chat.messages = messages;
  return chat;
};

const texts = (messages: readonly UIMessage[]): readonly string[] =>
  messages.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join(""));

/** The history that a page begins with. */
async function history(site: TestServer, name: string, query = ""): Promise<UIMessage[]> {
  const { json } = await site.get(`/chat/${name}/pump/messages${query}`);
  return Json.as(isJsonObject(json) ? (json["items"] ?? null) : null);
}

/** The ids of answers. */
const ids = (messages: readonly UIMessage[]): readonly string[] =>
  messages.filter(({ role }) => role === "assistant").map(({ id }) => id);

const callIds = (message: UIMessage | undefined): readonly string[] =>
  (message?.parts ?? []).flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : []));

/** Changes the second message of the user. */
const edit = (of: PlainChat, text: string): Promise<void> =>
  of.sendMessage({ text, messageId: of.messages[2]?.id ?? "" });

const chatBody = (text: string): JsonObject => ({
  id: "pump",
  messages: [{ id: "m1", role: "user", parts: [{ type: "text", text }] }],
});

const headers = (user: string): Record<string, string> => ({ "x-reeve-user": user });

test("the answer to a second message sees the first", async () => {
  const site = await open(echoAgent());
  const chat = chatIn(site, "echo");
  await chat.sendMessage({ text: "one" });
  await chat.sendMessage({ text: "two" });
  expect(texts(chat.messages)).toEqual(["one", "one #1", "two", "one + two #2"]);
});

test("the history has the page's messages with the ids of answers, in order, in pages", async () => {
  const site = await open(echoAgent());
  const chat = chatIn(site, "echo");
  for (const text of ["one", "two", "three"]) await chat.sendMessage({ text });
  const all = await history(site, "echo");
  expect(texts(all)).toEqual(texts(chat.messages));
  expect(all.map(({ role }) => role)).toEqual(chat.messages.map(({ role }) => role));
  expect(ids(all)).toEqual(ids(chat.messages));
  const { json } = await site.get("/chat/echo/pump/messages?size=4");
  const { items, next } = Json.as<{ items: UIMessage[]; next: string }>(json);
  expect(texts(items)).toEqual(texts(all.slice(2)));
  expect(texts(await history(site, "echo", `?size=4&after=${next}`))).toEqual(texts(all.slice(0, 2)));
  expect(await history(site, "echo", "?size=1")).toHaveLength(1);
  expect((await site.get("/chat/unknown/pump/messages")).status).toBe(404);
});

test("the history has the tools of an answer, with their arguments and results", async () => {
  const look = tool({
    name: "look",
    description: "Look it up",
    input: z.object({ question: z.string() }),
    risk: "safe",
    execute: async ({ question }) => (question === "bad" ? Promise.reject(new Error("no")) : "1987"),
  });
  const model = scriptedModel([
    call("look", { question: "pump" }, ["look", { question: "bad" }]),
    say("in 1987"),
  ]);
  const site = await open(agent({ name: "researcher", model, tools: [look] }));
  const chat = chatIn(site, "researcher");
  await chat.sendMessage({ text: "When?" });
  const [question, answer, ...more] = await history(site, "researcher");
  expect([texts(question ? [question] : []), more]).toEqual([["When?"], []]);
  expect(answer?.parts).toMatchObject([
    { type: "step-start" },
    { type: "dynamic-tool", state: "output-available", input: { question: "pump" }, output: "1987" },
    { type: "dynamic-tool", state: "output-error", input: { question: "bad" } },
    { type: "step-start" },
    { type: "text", text: "in 1987" },
  ]);
  expect(callIds(answer)).toEqual(callIds(chat.messages[1]));
});

test("a message that is being answered is in the history, and its answer is not yet", async () => {
  const { model, streamNext } = streamingModel(["the pump"]);
  const site = await open(agent({ name: "writer", model }));
  const chat = chatIn(site, "writer");
  const sent = chat.sendMessage({ text: "When?" });
  await expect.poll(async () => texts(await history(site, "writer"))).toEqual(["When?"]);
  streamNext();
  await sent;
  expect(texts(await history(site, "writer"))).toEqual(["When?", "the pump"]);
});

test("a regenerated answer replaces the first one, after a reload and repeatedly", async () => {
  const site = await open(echoAgent());
  const chat = chatIn(site, "echo");
  await chat.sendMessage({ text: "one" });
  await chat.sendMessage({ text: "two" });
  await chat.regenerate();
  await chat.regenerate();
  const shown = ["one", "one #1", "two", "one + two #4"];
  expect(texts(chat.messages)).toEqual(shown);
  expect(texts(await history(site, "echo"))).toEqual(shown);
  const loaded = chatIn(site, "echo", await history(site, "echo"));
  await loaded.regenerate();
  await loaded.regenerate();
  await loaded.sendMessage({ text: "three" });
  expect(texts(loaded.messages)).toEqual([
    "one",
    "one #1",
    "two",
    "one + two #6",
    "three",
    "one + two + three #7",
  ]);
  expect(texts(await history(site, "echo"))).toEqual(texts(loaded.messages));
});

test("another answer to an earlier message removes the later messages from the chat", async () => {
  const site = await open(echoAgent());
  const chat = chatIn(site, "echo");
  for (const text of ["one", "two", "three"]) await chat.sendMessage({ text });
  await chat.regenerate({ messageId: chat.messages[1]?.id ?? "" });
  expect(texts(chat.messages)).toEqual(["one", "one #4"]);
  await chat.sendMessage({ text: "four" });
  expect(texts(chat.messages).at(-1)).toBe("one + four #5");
  expect(texts(await history(site, "echo"))).toEqual(texts(chat.messages));
});

test("an edited message replaces the original, after a reload and when changed back", async () => {
  const site = await open(echoAgent());
  const chat = chatIn(site, "echo");
  for (const text of ["one", "two", "three"]) await chat.sendMessage({ text });
  await edit(chat, "zwei");
  expect([chat.error, texts(chat.messages)]).toEqual([undefined, ["one", "one #1", "zwei", "one + zwei #4"]]);
  await edit(chat, "two");
  expect(texts(chat.messages)).toEqual(["one", "one #1", "two", "one + two #5"]);
  expect(texts(await history(site, "echo"))).toEqual(texts(chat.messages));
  const loaded = chatIn(site, "echo", await history(site, "echo"));
  await edit(loaded, "deux");
  expect(texts(loaded.messages)).toEqual(["one", "one #1", "deux", "one + deux #6"]);
  await loaded.sendMessage({ text: "three" });
  expect(texts(loaded.messages).at(-1)).toBe("one + deux + three #7");
  expect(texts(await history(site, "echo"))).toEqual(texts(loaded.messages));
});

test("after an edit of the first message the conversation begins with it", async () => {
  const site = await open(echoAgent());
  const chat = chatIn(site, "echo");
  await chat.sendMessage({ text: "one" });
  await chat.sendMessage({ text: "uno", messageId: chat.messages[0]?.id ?? "" });
  expect(texts(chat.messages)).toEqual(["uno", "uno #2"]);
});

test("a message that is sent again unchanged is the same turn: during the turn, after it, and after a reload", async () => {
  const { model, streamNext, countCalls } = streamingModel(["the pump"]);
  const site = await open(agent({ name: "writer", model }));
  const chat = chatIn(site, "writer");
  const first = chat.sendMessage({ text: "When?" });
  await expect.poll(countCalls).toBe(1);
  const again = chatIn(site, "writer", structuredClone(chat.messages));
  const second = again.sendMessage({ text: "When?", messageId: chat.messages[0]?.id ?? "" });
  await expect.poll(async () => (await history(site, "writer")).length).toBe(1);
  const loaded = chatIn(site, "writer", await history(site, "writer"));
  const third = loaded.sendMessage({ text: "When?", messageId: loaded.messages[0]?.id ?? "" });
  streamNext();
  await Promise.all([first, second, third]);
  for (const each of [chat, again, loaded]) {
    await each.sendMessage({ text: "When?", messageId: each.messages[0]?.id ?? "" });
    expect([each.error, texts(each.messages)]).toEqual([undefined, ["When?", "the pump"]]);
  }
  expect(countCalls()).toBe(1);
});

test("a failed turn leaves no trace, even if the message is answered again and fails again", async () => {
  const site = await open(echoAgent());
  const chat = chatIn(site, "echo");
  await chat.sendMessage({ text: "one" });
  await chat.sendMessage({ text: "fail" });
  expect(chat.status).toBe("error");
  expect(texts(await history(site, "echo"))).toEqual(["one", "one #1"]);
  await chat.regenerate();
  const shown = ["one", "one #1", "fail", "one + fail #3"];
  expect([chat.status, texts(chat.messages)]).toEqual(["ready", shown]);
  // The first answer left no entry: the place of the message is that of the answer it has now.
  await chat.regenerate();
  expect(texts(chat.messages).at(-1)).toBe("one + fail #4");
  expect(texts(await history(site, "echo"))).toEqual(texts(chat.messages));
});

test("a branch that another window has left can be continued", async () => {
  const site = await open(echoAgent());
  const chat = chatIn(site, "echo");
  await chat.sendMessage({ text: "one" });
  await chat.sendMessage({ text: "two" });
  const other = chatIn(site, "echo", structuredClone(chat.messages));
  await other.sendMessage({ text: "uno", messageId: other.messages[0]?.id ?? "" });
  await chat.regenerate();
  expect(texts(chat.messages)).toEqual(["one", "one #1", "two", "one + two #4"]);
  expect(texts(await history(site, "echo"))).toEqual(texts(chat.messages));
});

test("two users with one chat id have two histories", async () => {
  const site = await open(echoAgent());
  for (const user of ["ada", "bob"])
    expect((await site.post("/chat/echo", chatBody(`of ${user}`), { headers: headers(user) })).status).toBe(
      200,
    );
  const seen = (user: string) => async (): Promise<readonly string[]> => {
    const reply = await site.get("/chat/echo/pump/messages", { headers: headers(user) });
    const { items } = Json.as<{ items: UIMessage[] }>(reply.json);
    return texts(items).slice(0, 1);
  };
  await expect.poll(seen("ada")).toEqual(["of ada"]);
  await expect.poll(seen("bob")).toEqual(["of bob"]);
  expect(await history(site, "echo")).toEqual([]);
});

test("a message cannot be edited while a question is open", async () => {
  const site = await open(approvalAgent());
  const chat = chatIn(site, "writer");
  await chat.sendMessage({ text: "Sell it" });
  const messages = [{ id: chat.messages[0]?.id, role: "user", parts: [{ type: "text", text: "Keep it" }] }];
  const edited = { id: "pump", messages, trigger: "submit-message", messageId: chat.messages[0]?.id };
  const busy = await site.post("/chat/writer", edited);
  expect([busy.status, codeOf(busy)]).toEqual([409, "session-busy"]);
});
