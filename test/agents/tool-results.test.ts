import { agent, tool, type Agent, type Tool, AgentId, Json } from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

interface Row {
  readonly id: number;
  readonly at: Date;
  readonly note?: string | undefined;
}

const row: Row = { id: 1, at: new Date(0), note: undefined };
const common = { name: "read", description: "Reads", input: z.object({}), risk: "safe" } as const;

/** Returns what agent code and a model get from a tool that returns `value`. */
async function resultOf(value: unknown, kind: "execute" | "run"): Promise<readonly [Json, string]> {
  const read: Tool =
    kind === "execute" ? tool({ ...common, execute: () => value }) : tool({ ...common, run: () => value });
  const code: Agent = {
    id: AgentId.of("code"),
    tools: [read],
    run: async (ctx) => {
      const result = await ctx.tool("read", {});
      return result.isError ? { error: Json.of(result.content) } : (result.value ?? null);
    },
  };
  const model = scriptedModel([call("read", {}), say("done")]);
  const reader = agent({ name: "reader", model, tools: [read] });
  await using t = testRuntime({ agents: [code, reader] });
  const { output } = await t.run(code, "go");
  await t.run(reader, "go");
  const shown = model.requests[1]?.messages.at(-1)?.content[0];
  const block = shown?.type === "tool-result" ? shown.content[0] : undefined;
  return [output, block?.type === "text" ? block.text : ""];
}

const kinds = ["execute", "run"] as const;

test.each(kinds)(
  "the result of %s may be anything that JSON can hold, at once or by a promise",
  async (kind) => {
    const text = '{"id":1,"at":"1970-01-01T00:00:00.000Z"}';
    const value = { id: 1, at: "1970-01-01T00:00:00.000Z" };
    expect(await resultOf(row, kind)).toEqual([value, text]);
    expect(await resultOf(Promise.resolve([row]), kind)).toEqual([[value], `[${text}]`]);
    expect(await resultOf(new Date(0), kind)).toEqual([
      "1970-01-01T00:00:00.000Z",
      "1970-01-01T00:00:00.000Z",
    ]);
    expect(await resultOf(undefined, kind)).toEqual([null, "null"]);
  },
);

test.each([
  [{ rows: [{ id: 10n }] }, "it.rows[0].id is a bigint"],
  [{ found: new Map([["a", 1]]) }, "it.found is a Map: use Object.fromEntries(map)"],
  [new Set([1]), "it is a Set: use [...set]"],
  [{ list: [Promise.resolve(1)] }, "it.list[0] is a promise: await it"],
  [{ error: new Error("gone") }, "it.error is an Error: use its message, or throw it"],
  [() => 1, "it is a function"],
])("a result that JSON cannot hold is refused with the tool and the path: %o", async (value, reason) => {
  for (const kind of kinds) {
    const [, shown] = await resultOf(value, kind);
    expect(shown).toBe(`read returned a value that cannot be encoded as JSON: ${reason}`);
  }
});

test("a tool has either execute or run", () => {
  const both = { ...common, execute: () => 1, run: () => 2 };
  expect(() => tool(both)).toThrow("tool read must have either execute or run");
  // @ts-expect-error neither
  expect(() => tool(common)).toThrow("tool read must have either execute or run");
});
