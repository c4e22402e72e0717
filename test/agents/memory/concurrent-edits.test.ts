import { agent, ChatMessage, Json, memory, UserId, type Model } from "reeve";
import { isJsonObject } from "#kernel";
import { MemoryOwner, Partition, type MemoryStore, type Store } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { testRuntime } from "reeve/testing";
import { expect, test } from "vitest";

const ada = MemoryOwner.user(UserId.of("ada"));
const acme = Partition.of("acme");
const request = { tenant: "acme", user: "ada" } as const;

const lastLine = (text: string): string => text.split("\n").at(-1) ?? "";

/** Adds a line to the block, and tries again with the text that it is shown until it is in. */
function persistentModel(line: string): Model {
  return {
    id: `writer-${line}`,
    generate: async ({ messages }) => {
      const block = messages.at(-1)?.content[0];
      const part = block?.type === "tool-result" ? block.content[0] : undefined;
      const result = part?.type === "text" ? Json.of(JSON.parse(part.text)) : null;
      const isIn = isJsonObject(result) && result["edited"] === true;
      const text = isJsonObject(result) && typeof result["text"] === "string" ? lastLine(result["text"]) : "";
      const input = { block: "board", old_text: text, new_text: text === "" ? line : `${text}\n${line}` };
      const usage = { input: 1, output: 1 };
      if (isIn) return { message: ChatMessage.assistant("done"), finishReason: "stop", usage };
      return {
        message: {
          role: "assistant",
          content: [{ type: "tool-call", callId: "c", name: "edit_block", input }],
        },
        finishReason: "tool-calls",
        usage,
      };
    },
  };
}

test("40 concurrent edits of one block lose no line", async () => {
  const board = memory({ blocks: { board: { limit: 2_000 } } });
  const lines = Array.from({ length: 40 }, (_, index) => `line-${index}.`);
  const writers = lines.map((line, index) =>
    agent({ name: `writer-${index}`, model: persistentModel(line), extensions: [board] }),
  );
  const store = slowStore(memoryStore());
  await using t = testRuntime({ agents: writers, store, replay: false });
  const results = await Promise.all(writers.map((writer) => t.run(writer, "go", request)));
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["completed"]));
  const block = await store.memory.block(acme, ada, "board");
  expect(block?.version).toBe(40);
  expect(block?.text.split("\n").toSorted()).toEqual(lines.toSorted());
  expect(conflicts).toBeGreaterThan(0);
});

let conflicts = 0;

/** A store whose readers all come before its writers, so that edits conflict. */
function slowStore(store: Store): Store {
  const { memory: kept } = store;
  const slow: Partial<MemoryStore> = {
    block: async (...given) => {
      const block = await kept.block(...given);
      await new Promise((resolve) => setImmediate(resolve));
      return block;
    },
    editBlock: async (...given) => {
      const result = await kept.editBlock(...given);
      if (result.outcome === "conflict") conflicts += 1;
      return result;
    },
  };
  return replaceMembers(store, { memory: replaceMembers(kept, slow) });
}

/** The same object with some of its members replaced. */
function replaceMembers<Target extends object>(target: Target, members: Partial<Target>): Target {
  return new Proxy(target, {
    get: (object, name) => {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const value: unknown = Reflect.get(object, name, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}
