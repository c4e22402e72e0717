import { agent, tool, type Permissions } from "reeve";
import { type PermissionRequest, type Risk, type ToolResultBlock } from "#kernel";
import { call, say, scriptedModel, testRuntime, type TestRuntimeOptions } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventsOf } from "./events-of.ts";

const input = z.object({ n: z.number().default(1) });

/** Lets an agent call an effect tool and a run tool of this risk. Returns which ran and the model's prompt. */
async function tryTools(
  risk: Risk,
  permissions?: Permissions | "allow-all",
  options: Omit<TestRuntimeOptions, "agents"> = {},
) {
  const ran: string[] = [];
  const act = tool({
    name: "act",
    description: "Acts",
    input,
    risk,
    execute: async ({ n }) => `${ran.push(`act ${n}`)}`,
  });
  const plan = tool({
    name: "plan",
    description: "Plans",
    input,
    risk,
    run: async (ctx, { n }) => ctx.step("plan", () => `${ran.push(`plan ${n}`)}`),
  });
  const model = scriptedModel([call("act", {}, ["plan", {}]), say("done")]);
  const worker = agent({ name: "worker", model, tools: [act, plan], ...(permissions && { permissions }) });
  await using t = testRuntime({ agents: [worker], ...options });
  const run = await t.start(worker, "go", { tenant: "acme" });
  expect((await run.result()).output).toBe("done");
  const blocks = model.requests[1]?.messages.at(-1)?.content ?? [];
  const shown = blocks
    .filter((block): block is ToolResultBlock => block.type === "tool-result")
    .map(({ isError, content: [said] }) => [isError, said?.type === "text" ? said.text : ""] as const);
  return { ran: ran.toSorted(), shown, events: await t.events(run) };
}

const refusalOf = (name: string) => [
  true,
  expect.stringMatching(
    new RegExp(
      String.raw`^tool ${name} refused: .*; permissions\(\[\{ tool: "${name}", verdict: "allow" \}\]\) would allow it$`,
    ),
  ),
];
const both = ["act 1", "plan 1"];
const neither = [refusalOf("act"), refusalOf("plan")];

test("7.5 a safe tool runs", async () => {
  const { ran, shown } = await tryTools("safe");
  expect(ran).toEqual(both);
  expect(shown.map(([isError]) => isError)).toEqual([false, false]);
});

test.each(["high", "critical"] as const)(
  "7.5 a tool of risk %s is refused: the denial names the tool and the line that would allow it",
  async (risk) => {
    const { ran, shown, events } = await tryTools(risk);
    expect(ran).toEqual([]);
    expect(shown).toEqual(neither);
    expect(shown[0]?.[1]).toContain(risk);
    expect(eventsOf(events, "tool.start")).toEqual([]);
    expect(eventsOf(events, "tool.end")).toEqual([]);
  },
);

test('7.5 "allow-all" is explicit, for an agent or for a runtime', async () => {
  expect((await tryTools("critical", "allow-all")).ran).toEqual(both);
  expect((await tryTools("critical", undefined, { permissions: "allow-all" })).ran).toEqual(both);
});

test("7.5 an agent's own policy goes before the runtime's", async () => {
  const never: Permissions = { decide: () => "deny" };
  const { ran, shown } = await tryTools("safe", never, { permissions: "allow-all" });
  expect(ran).toEqual([]);
  expect(shown).toEqual(neither);
});

test("7.5 a policy gets the arguments that will be executed, and the user", async () => {
  const asked: PermissionRequest[] = [];
  const policy: Permissions = {
    decide: async (request) => {
      asked.push(request);
      return request.tool === "act" ? "allow" : "deny";
    },
  };
  const { ran, shown } = await tryTools("critical", policy);
  expect(ran).toEqual(["act 1"]);
  expect(shown[1]).toEqual(refusalOf("plan"));
  const common = { risk: "critical", input: { n: 1 }, agentId: "worker", tenantId: "acme" };
  expect(asked).toMatchObject([
    { tool: "act", ...common },
    { tool: "plan", ...common },
  ]);
});

const unclear: readonly (readonly [string, Permissions["decide"]])[] = [
  [
    "throws",
    () => {
      throw new Error("no idea");
    },
  ],
  ["rejects", async () => Promise.reject(new Error("no idea"))],
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a policy written without types
  ["says something unknown", () => "maybe" as "allow"],
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a policy written without types
  ["says nothing", () => undefined as unknown as "allow"],
  ["asks, without an approver", () => "ask"],
];

test.each(unclear)("7.5 a policy that %s denies, even safe tools", async (_, decide) => {
  const { ran, shown } = await tryTools("safe", { decide });
  expect(ran).toEqual([]);
  expect(shown).toEqual(neither);
});
