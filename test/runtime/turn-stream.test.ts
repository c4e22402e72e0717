import {
  agent,
  type Agent,
  AgentId,
  ChatMessage,
  createRuntime,
  type Runtime,
  SessionBusyError,
} from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { counter } from "./counting-model.ts";
import { readAll } from "./read-all.ts";

const writer = agent({ name: "writer", model: counter });

const open = (): Runtime => createRuntime({ agents: [writer], store: memoryStore() });

test("a stream gives every piece of the root's answer, and ends when the conversation is free", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  const stream = talk.stream("one");
  const pieces = await readAll(stream);
  expect(pieces.map(({ kind, text }) => [kind, text])).toEqual([
    ["reset", ""],
    ["text", "1: "],
    ["text", "one"],
  ]);
  expect(await talk.phase()).toBe("idle");
  expect((await stream.result).output).toBe("1: one");
  const { runId } = await stream.run;
  expect(new Set(pieces.map((piece) => piece.runId))).toEqual(new Set([runId]));
});

test("the pieces of a turn that is over can still be read", async () => {
  await using runtime = open();
  const stream = (await runtime.sessions.create(writer)).stream("one");
  await stream.result;
  expect((await readAll(stream)).map(({ text }) => text).join("")).toBe("1: one");
});

test("a stream leaves out the text of children", async () => {
  const child = agent({ name: "child", model: counter });
  const asking: Agent = {
    id: AgentId.of("lead"),
    run: async (ctx) => {
      const { text } = await ctx.askOrThrow(child, "from the lead", { timeoutS: 60 });
      const { message } = await ctx.llm([ChatMessage.user(`child said ${text}`)], { model: counter });
      return ChatMessage.text(message);
    },
  };
  await using runtime = createRuntime({ agents: [asking, child], store: memoryStore() });
  const talk = await runtime.sessions.create(asking);
  const said = (await readAll(talk.stream("go"))).map(({ text }) => text).join("");
  expect(said).toBe("1: child said 1: from the lead");
});

test("leaving the loop of a stream cancels the turn, and the next one may follow at once", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  const stream = talk.stream("hang");
  for await (const piece of stream) if (piece.kind === "text") break;
  expect((await (await stream.run).resultNow())?.status).toBe("cancelled");
  expect((await stream.result).status).toBe("cancelled");
  expect((await talk.invoke("two")).status).toBe("completed");
});

test("leaving the loop of a detached stream lets the turn continue", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  const stream = talk.stream("hang", { onBreak: "detach" });
  for await (const piece of stream) if (piece.kind === "text") break;
  const run = await stream.run;
  expect(await run.resultNow()).toBeNull();
  expect(await talk.phase()).toBe("turn");
  await run.cancel();
  await talk.waitForIdle();
});

test("a refused stream throws in its loop and in its result", async () => {
  await using runtime = open();
  const talk = await runtime.sessions.create(writer);
  const run = await talk.start("hang");
  const stream = talk.stream("two");
  await expect(readAll(stream)).rejects.toThrow(SessionBusyError);
  await expect(stream.result).rejects.toThrow(SessionBusyError);
  await run.cancel();
});
