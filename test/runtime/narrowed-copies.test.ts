import { AgentId, createRuntime, tool, type Agent } from "reeve";
import { expect, test } from "vitest";
import { z } from "zod";

const called: string[] = [];
const toolOf = (name: string) =>
  tool({
    name,
    description: "Notes that it was called",
    input: z.object({ by: z.string() }),
    risk: "safe",
    execute: async ({ by }) => called.push(`${by} calls ${name}`),
  });

/** The copies that a copy makes, by its name. */
const copies: Readonly<
  Record<string, readonly { readonly name: string; readonly tools?: readonly string[] }[]>
> = {
  lead: [
    { name: "copy" },
    { name: "copy without tools", tools: [] },
    { name: "narrow copy", tools: ["read"] },
  ],
  "narrow copy": [
    { name: "copy that asks for more", tools: ["read", "send"] },
    { name: "copy of the narrow one" },
  ],
};

/** Calls both tools, then makes copies of itself. */
const worker: Agent = {
  id: AgentId.of("worker"),
  tools: [toolOf("read"), toolOf("send")],
  run: async (ctx, inbox) => {
    const task = (await inbox.next())?.text ?? "";
    await ctx.tool("read", { by: task });
    await ctx.tool("send", { by: task });
    for (const { name, ...options } of copies[task] ?? [])
      await ctx.join(await ctx.spawnChild(name, options));
    if (task === "narrow copy") await ctx.join(await ctx.spawn(renamed, "copy with a key"));
  },
};

/** The same agent under another id: the runtime knows it by its type. */
const renamed: Agent = { ...worker, id: AgentId.of("worker", "other") };

test("8.8 a copy may call all tools or the named ones, and its own copies may call no more", async () => {
  await using runtime = createRuntime({ agents: [worker] });
  const run = await runtime.start(worker, "lead");
  expect(await run.result()).toMatchObject({ status: "completed" });
  expect(called).toEqual([
    "lead calls read",
    "lead calls send",
    "copy calls read",
    "copy calls send",
    "narrow copy calls read",
    "copy that asks for more calls read",
    "copy of the narrow one calls read",
    "copy with a key calls read",
  ]);
});
