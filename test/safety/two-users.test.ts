import {
  agent,
  cache,
  ChatMessage,
  createRuntime,
  currentScope,
  rateLimit,
  SessionBusyError,
  tool,
  UserId,
  type Json,
  type Model,
} from "reeve";
import { Labels, MemoryOwner, Partition } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { z } from "zod";

const tenant = "acme";
const users = ["ada", "bob"] as const;
type User = (typeof users)[number];

const store = memoryStore();
const partition = Partition.of(tenant);
const userOf = (): User | null => users.find((name) => name === currentScope()?.userId) ?? null;

/** The tools know their user from the scope alone: their arguments are the same for all users. */
const tools = [
  tool({
    name: "orders",
    description: "Lists the orders of the user",
    input: z.object({ page: z.number() }),
    risk: "safe",
    execute: ({ page }) => `orders of ${userOf()}, page ${page}`,
  }),
  tool({
    name: "remember",
    description: "Stores a fact about the user",
    input: z.object({ page: z.number() }),
    risk: "safe",
    execute: async ({ page }) => {
      const user = userOf();
      const fact = { key: `page-${page}`, value: `fact of ${user}`, validFrom: 1, validTo: null };
      const write = { id: `page-${page}`, recordedAt: 1, runId: null, labels: Labels.none };
      await store.memory.remember(partition, MemoryOwner.user(user && UserId.of(user)), {
        ...fact,
        ...write,
      });
      return `stored for ${user}`;
    },
  }),
  tool({
    name: "recall",
    description: "Reads a fact about the user",
    input: z.object({ page: z.number() }),
    risk: "safe",
    execute: async ({ page }) => {
      const user = userOf();
      const owner = MemoryOwner.user(user && UserId.of(user));
      const facts = await store.memory.recall(partition, owner, { key: `page-${page}` });
      return facts.map(({ value }) => value);
    },
  }),
];

/** Prompts with content of both users, history included. */
let mixed = 0;

const isMixed = (messages: readonly ChatMessage[]): boolean => {
  const prompt = JSON.stringify(messages);
  return users.every((user) => prompt.includes(`of ${user}`));
};

/** Calls every tool with the number in the task, and answers with everything that it was shown. */
const model: Model = {
  id: "reader",
  price: { input: 0, output: 0 },
  async generate({ messages }) {
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const results = messages.slice(asked).filter(({ role }) => role === "tool");
    const task = messages[asked];
    const name = tools[results.length]?.name;
    const page = Number(task && ChatMessage.text(task));
    const message: ChatMessage = name
      ? { role: "assistant", content: [{ type: "tool-call", callId: name, name, input: { page } }] }
      : ChatMessage.assistant(JSON.stringify(messages.slice(asked)));
    if (isMixed(messages)) mixed += 1;
    return { message, usage: { input: 1, output: 1 }, finishReason: name ? "tool-calls" : "stop" };
  },
};

const worker = agent({
  name: "worker",
  model,
  tools,
  middleware: {
    chat: [cache(), rateLimit({ key: "provider", share: "user", requestsPerMinute: 1_000_000 })],
    function: [cache()],
  },
});

test("in 1,400 interleaved calls of two users of a tenant neither sees data of the other", async () => {
  await using runtime = createRuntime({ agents: [worker], store });
  let crossings = 0;
  let refused = 0;
  let calls = 0;
  const turn = async (user: User, page: number): Promise<void> => {
    const session = `talk-${page % 5}`;
    let output: Json = null;
    try {
      const run = await runtime.start(worker, `${page}`, { tenant, user, session, onBusy: "queue" });
      output = (await run.result()).output;
    } catch (error) {
      if (!(error instanceof SessionBusyError)) throw error;
      refused += 1;
    }
    const other = users.find((name) => name !== user) ?? "";
    // Each tool is called, after a model call for each, and a last model call answers.
    calls += 2 * tools.length + 1;
    if (typeof output !== "string" || !output.includes(`orders of ${user}`))
      throw new Error(`no answer: ${output}`);
    if (output.includes(`of ${other}`) || output.includes(`for ${other}`)) crossings += 1;
  };
  // The same pages for both users, twice: the second time all of it is answered from the cache.
  const pages = Array.from({ length: 100 }, (_, index) => index % 50);
  for (let start = 0; start < pages.length; start += 10)
    await Promise.all(
      pages.slice(start, start + 10).flatMap((page) => users.map((user) => turn(user, page))),
    );
  expect({ calls, crossings, refused, mixed }).toEqual({
    calls: 1_400,
    crossings: 0,
    refused: 0,
    mixed: 0,
  });
});

test("in 1,000 interleaved turns of two users in sessions of one name neither sees content of the other", async () => {
  let seen = 0;
  let crossings = 0;
  const listener = agent({
    name: "listener",
    model: {
      id: "listener",
      async generate({ messages }) {
        if (isMixed(messages)) crossings += 1;
        seen = Math.max(seen, messages.length);
        return {
          message: ChatMessage.assistant("heard"),
          usage: { input: 1, output: 1 },
          finishReason: "stop",
        };
      },
    },
  });
  await using runtime = createRuntime({ agents: [listener], store: memoryStore() });
  const talks = await Promise.all(
    users.flatMap((user) =>
      ["morning", "noon", "evening"].map(async (id) => ({
        user,
        talk: await runtime.sessions.create(listener, { tenant, user, id }),
      })),
    ),
  );
  const turns = Array.from({ length: 1_000 }, (_, index) => index);
  for (let start = 0; start < turns.length; start += talks.length)
    await Promise.all(
      turns.slice(start, start + talks.length).map(async (_, place) => {
        const { user, talk } = talks[place] ?? fail();
        expect((await talk.invoke(`a word of ${user}`)).status).toBe("completed");
      }),
    );
  // Each was shown its whole conversation.
  expect({ crossings, seen }).toEqual({ crossings: 0, seen: 2 * 166 + 1 });
});

function fail(): never {
  throw new Error("no such conversation");
}
