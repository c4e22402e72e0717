// Tools return any value: rows, dates, nothing, at once or later. A value that JSON cannot hold is refused with its
// path.
import assert from "node:assert/strict";
import { agent, createRuntime, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";

interface Order {
  readonly id: number;
  readonly placedAt: Date;
}

const common = { input: z.object({}), risk: "safe" } as const;
const orders = tool({
  ...common,
  name: "orders",
  description: "List orders",
  execute: async (): Promise<Order[]> => [{ id: 1, placedAt: new Date(0) }],
});
const log = tool({ ...common, name: "log", description: "Write a line", execute: () => console.log("seen") });
const balance = tool({
  ...common,
  name: "balance",
  description: "Read the balance",
  execute: () => ({ account: { cents: 10n } }), // a bigint
});

const model = scriptedModel([call("orders", {}, ["log", {}], ["balance", {}]), say("done")]);
const assistant = agent({ name: "assistant", model, tools: [orders, log, balance] });
await using runtime = createRuntime({ agents: [assistant] });
await (await runtime.start(assistant, "Look at the orders")).result();

const results = model.requests[1]?.messages
  .at(-1)
  ?.content.flatMap((block) => (block.type === "tool-result" ? [block.content[0]] : []));
assert.deepEqual(
  results?.map((block) => (block?.type === "text" ? block.text : "")),
  [
    '[{"id":1,"placedAt":"1970-01-01T00:00:00.000Z"}]',
    "null",
    "balance returned a value that cannot be encoded as JSON: it.account.cents is a bigint",
  ],
);
