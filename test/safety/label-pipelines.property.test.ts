import * as fc from "fast-check";
import { AgentId, createRuntime, Json, tool, type Agent, type ToolResult } from "reeve";
import { Labels } from "reeve/store";
import { expect, test } from "vitest";
import { z } from "zod";
import { propertyRuns } from "../effort.ts";

const numRuns = propertyRuns(300);

/** A node of a tree of agents: the tools it calls, in order, and its children with the tools they are left. */
interface Node {
  readonly calls: readonly string[];
  readonly children: readonly { readonly tools: readonly string[] | null; readonly node: Node }[];
}

const names = ["clean", "web", "account"] as const;
const some = fc.array(fc.constantFrom(...names), { maxLength: 3 });
const nodes: fc.Memo<Node> = fc.memo((depth) =>
  fc.record({
    calls: some,
    children:
      depth <= 1
        ? fc.constant([])
        : fc.array(fc.record({ tools: fc.option(some), node: nodes(depth - 1) }), { maxLength: 2 }),
  }),
);

const any = z.looseObject({});
const tools = [
  tool({ name: "clean", description: "x", risk: "safe", input: any, execute: async () => "clean-text" }),
  tool({
    name: "web",
    description: "x",
    risk: "safe",
    origin: "web",
    egress: false,
    input: any,
    execute: async () => "untrusted-canary",
  }),
  tool({
    name: "account",
    description: "x",
    risk: "safe",
    sensitivity: "private",
    input: any,
    execute: async () => "private-canary",
  }),
];

/** Follows its node, and returns everything it has read: what its parent told it, results of tools, and of children. */
const worker: Agent<string> = {
  id: AgentId.of("worker"),
  tools,
  async run(ctx, inbox) {
    const { told = [], ...node } = Json.as<Node & { readonly told?: readonly string[] }>(
      (await inbox.next())?.data ?? null,
    );
    const read: string[] = [...told];
    for (const name of node.calls) {
      const result: ToolResult = await ctx.tool(name, {});
      read.push(result.isError ? "refused" : JSON.stringify(result.content));
    }
    for (const { tools: left, node: child } of node.children) {
      const denied = left === null ? [] : names.filter((name) => !left.includes(name));
      const options = { permissions: denied.map((name) => ({ tool: name, verdict: "deny" as const })) };
      const spawned = await ctx.spawn(
        worker,
        { text: "go", data: Json.of({ ...child, told: read.slice(-3) }) },
        options,
      );
      const { output, labels } = await ctx.join(spawned);
      checkLabels(String(output), labels);
      read.push(String(output));
    }
    return read.join(" ");
  },
};

/** Asserts that a text with a canary always has its label. */
function checkLabels(text: string, labels: Labels | undefined): void {
  const { untrusted, private: isPrivate } = labels ?? Labels.none;
  if (text.includes("untrusted-canary") && !untrusted)
    throw new Error(`untrusted without its label: ${text}`);
  if (text.includes("private-canary") && !isPrivate) throw new Error(`private without its label: ${text}`);
}

/** The tools that a tree may really have called. */
function allowedTools(node: Node, may: ReadonlySet<string>): ReadonlySet<string> {
  const own = node.calls.filter((name) => may.has(name));
  const below = node.children.flatMap(({ tools: left, node: child }) => {
    const narrowed = left === null ? may : new Set(left.filter((name) => may.has(name)));
    return [...allowedTools(child, narrowed)];
  });
  return new Set([...own, ...below]);
}

test(`in ${numRuns} trees of agents, labels reach every reader, and no child has a tool that its parent has not`, async () => {
  await using runtime = createRuntime({ agents: [worker] });
  await fc.assert(
    fc.asyncProperty(nodes(4), async (node) => {
      const run = await runtime.start(worker, { text: "go", data: Json.of(node) });
      const { status, output, labels } = await run.result();
      expect(status).toBe("completed");
      const text = String(output);
      checkLabels(text, labels);
      const may = allowedTools(node, new Set(names));
      expect([
        text.includes("untrusted-canary"),
        text.includes("private-canary"),
        text.includes("clean-text"),
      ]).toEqual([may.has("web"), may.has("account"), may.has("clean")]);
      // Nothing is labelled without a reason.
      expect([labels?.untrusted ?? false, labels?.private ?? false]).toEqual([
        may.has("web"),
        may.has("account"),
      ]);
    }),
    { numRuns },
  );
});
