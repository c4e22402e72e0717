import { agent, ChatMessage, type Model, ModelError, tool } from "reeve";
import { expect, test } from "vitest";
import { z } from "zod";
import { main } from "../../src/cli/program.ts";
import type { FakeTerminal } from "./fake-terminal.ts";
import { CliServer } from "./cli-server.ts";

/** For busy machines. */

/**
 * A model that answers with the number of messages and the last one. A message that begins with `fail` gets an error.
 * One with `hang` calls the tool `search` first, and then gets only the first piece of an answer.
 */
const counter: Model = {
  id: "counter",
  async generate({ messages }, { signal, onDelta }) {
    const last = ChatMessage.text(messages.at(-1) ?? ChatMessage.user(""));
    const usage = { input: 10, output: 5 };
    if (last.startsWith("fail")) throw new ModelError({ kind: "auth", message: "no" });
    if (last.startsWith("hang")) {
      const content = [{ type: "tool-call", callId: "1", name: "search", input: {} }] as const;
      return { message: { role: "assistant", content }, usage, finishReason: "tool-calls" };
    }
    if (messages.at(-1)?.role === "tool") {
      onDelta?.({ kind: "text", text: "Well, " });
      await new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    }
    return { message: ChatMessage.assistant(`${messages.length}: ${last}`), usage, finishReason: "stop" };
  },
};

/** Opens a server with an agent whose search ends on request. */
const open = (search = Promise.resolve("found")): Promise<CliServer> =>
  CliServer.open({
    agents: [
      agent({
        name: "lead",
        model: counter,
        tools: [
          tool({
            name: "search",
            description: "Searches",
            input: z.object({}),
            risk: "safe",
            execute: () => search,
          }),
        ],
      }),
    ],
  });

/** Runs a chat with lines from a pipe. */
async function pipe(server: CliServer, lines: readonly string[], ...words: readonly string[]) {
  const terminal = server.terminal();
  for (const line of [...lines, null]) terminal.enter(line);
  const code = await main(["chat", "lead", ...words], terminal);
  return { code, said: terminal.said, complained: terminal.complained };
}

/** A chat of a user at a terminal. */
class Typed {
  readonly terminal: FakeTerminal;
  readonly over: Promise<number>;

  constructor(server: CliServer, ...words: readonly string[]) {
    this.terminal = server.terminal({ isTTY: true, environment: { NO_COLOR: "1" } });
    this.over = main(["chat", "lead", ...words], this.terminal);
  }

  /** Types a line, and waits for the next prompt. Returns the output in between. */
  async say(line: string): Promise<string> {
    await this.waitForQuestion();
    const [said, complained] = [this.terminal.said.length, this.terminal.complained.length];
    this.terminal.enter(line);
    await this.waitForQuestion();
    return this.terminal.said.slice(said) + this.terminal.complained.slice(complained);
  }

  waitForQuestion(): Promise<void> {
    return expect.poll(() => this.terminal.isAsking).toBe(true);
  }

  get session(): string {
    return this.terminal.complained.match(/session (\S+)/)?.[1] ?? "";
  }

  async leave(): Promise<number> {
    await this.waitForQuestion();
    this.terminal.enter(null);
    return this.over;
  }
}

test("lines of a pipe are answered in sequence, and the conversation can be continued", async () => {
  await using server = await open();
  const first = await pipe(server, ["one", "", "two"]);
  expect([first.code, first.said]).toEqual([0, "1: one\n3: two\n"]);
  const session = /^session (\S+)\n$/.exec(first.complained)?.[1] ?? "";
  const next = await pipe(server, ["three"], "--session", session);
  expect([next.said, next.complained]).toEqual(["5: three\n", first.complained]);
  expect((await pipe(server, ["one"])).said).toBe("1: one\n");
});

test("as JSON each answer is one line", async () => {
  await using server = await open();
  const { said } = await pipe(server, ["one", "fail"], "--json", "--session", "s");
  const lines = said
    .split("\n")
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));
  expect(lines).toMatchObject([
    { session: "s", status: "completed", output: "1: one" },
    { session: "s", status: "failed", output: null },
  ]);
});

test("a failed message prints a hint for its cause, and the last one decides the exit code", async () => {
  await using server = await open();
  const failed = await pipe(server, ["fail"], "--session", "s");
  expect([failed.code, failed.said]).toEqual([11, ""]);
  expect(failed.complained).toMatch(/failed: error\n {2}→ reeve why \S+\n$/);
  expect((await pipe(server, ["fail", "two"], "--session", "s")).code).toBe(0);
});

test("users have conversations of their own under one name", async () => {
  await using server = await open();
  for (const user of ["ada", "bob"])
    expect((await pipe(server, ["one"], "--session", "s", "--user", user)).said).toBe("1: one\n");
  expect((await pipe(server, ["/history"], "--session", "s", "--user", "ada")).said).toBe("> one\n1: one\n");
  expect((await pipe(server, ["/history"], "--session", "s")).said).toBe("");
});

test("an unknown agent is reported before any question", async () => {
  await using server = await open();
  const { code, complained } = await server.reeve("chat", "leda");
  expect([code, complained]).toEqual([4, "reeve: no agent leda\n  → agents: lead\n"]);
});

/** Starts a chat whose answer has begun and does not end. */
async function startHangingChat(server: CliServer, search: PromiseWithResolvers<string>): Promise<Typed> {
  const chat = new Typed(server);
  await chat.waitForQuestion();
  chat.terminal.enter("hang");
  // A model in the process of the server streams only while a reader is there.
  await expect.poll(() => chat.terminal.said).toBe("lead: calling search\n");
  search.resolve("found");
  await expect.poll(() => chat.terminal.said).toBe("lead: calling search\nWell, ");
  return chat;
}

test("Ctrl-C cancels an answer, and the next message goes on", async () => {
  const search = Promise.withResolvers<string>();
  await using server = await open(search.promise);
  const chat = await startHangingChat(server, search);
  expect(chat.terminal.interrupt()).toBe(true);
  await chat.waitForQuestion();
  expect(chat.terminal.said).toBe("lead: calling search\nWell, \n");
  expect(chat.terminal.complained).toMatch(/\ncancelled\n$/);
  // The message, the call, its result, and how it ended: then this one.
  expect(await chat.say("two")).toBe("5: two\n");
  expect(await chat.leave()).toBe(0);
  expect(chat.terminal.complained).toContain(`continue with: reeve chat lead --session ${chat.session}\n`);
});

test("output after a Ctrl-C starts on a new line, even if nothing was printed before", async () => {
  const search = Promise.withResolvers<string>();
  await using server = await open(search.promise);
  const chat = new Typed(server);
  await chat.waitForQuestion();
  chat.terminal.enter("hang");
  await expect.poll(() => chat.terminal.said).toBe("lead: calling search\n");
  chat.terminal.interrupt();
  await chat.waitForQuestion();
  expect(chat.terminal.said).toBe("lead: calling search\n\n");
});

test("a second Ctrl-C leaves without waiting for the cancelled answer", async () => {
  const search = Promise.withResolvers<string>();
  await using server = await open(search.promise);
  const chat = await startHangingChat(server, search);
  chat.terminal.interrupt();
  chat.terminal.interrupt();
  expect(await chat.over).toBe(130);
});

test("history, retry, a new conversation, and text that is not a command", async () => {
  await using server = await open();
  const chat = new Typed(server);
  expect(await chat.say("/retry")).toBe("no message to send again\n");
  expect(await chat.say("one")).toBe("1: one\n");
  expect(await chat.say("two")).toBe("3: two\n");
  expect(await chat.say("/retry")).toBe("3: two\n");
  expect(await chat.say("/history")).toBe("> one\n1: one\n> two\n3: two\n");
  expect(await chat.say("fail")).toContain("failed: error");
  expect(await chat.say("/retry")).toContain("failed: error");
  expect(await chat.say("/history")).toBe("> one\n1: one\n> two\n3: two\n");
  expect(await chat.say("/compact")).toBe("compacted\n");
  expect(await chat.say("/compact")).toBe("nothing to compact\n");
  expect(await chat.say("/help")).toBe(
    "unknown command /help; commands: /history  /retry  /compact  /new  /exit\n",
  );
  const { session } = chat;
  expect(await chat.say("/new")).toMatch(/^session \S+\n$/);
  expect(await chat.say("three")).toBe("1: three\n");
  chat.terminal.enter("/exit");
  expect(await chat.over).toBe(0);
  const again = new Typed(server, "--session", session);
  await again.waitForQuestion();
  expect(again.terminal.said).toBe("> one\n1: one\n> two\n3: two\n");
  expect(await again.say("/retry")).toBe("3: two\n");
  await again.leave();
});
