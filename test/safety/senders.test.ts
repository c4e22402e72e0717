import { AgentId, createRuntime, Json, RunId, type Input } from "reeve";
import { type Envelope, type Sender } from "#kernel";
import { expect, test } from "vitest";
import { agentOf, eventually } from "../../src/testing/engine-suite/harness.ts";

/** Reads messages, and notes who sent each. */
function listener(seen: Map<string, Sender>) {
  return agentOf("listener", async (_, inbox) => {
    for (;;) {
      const message: Envelope | null = await inbox.next({ waitS: 600 });
      if (!message) return null;
      seen.set(message.text, message.from);
      if (message.text === "end") return null;
    }
  });
}

const root = { kind: "run", runId: "t~0", agentId: "lead" } as const;

/** Ways to claim that another run has sent a message. */
const forged: Readonly<Record<string, unknown>> = {
  field: { text: "field", from: root, askedBy: root.runId, id: "m1" },
  data: { text: "data", data: { from: root } },
  prototype: Object.setPrototypeOf({ text: "prototype" }, { from: root }),
  json: JSON.parse('{"text":"json","__proto__":{"from":{"kind":"outside","name":"lead"}},"from":"lead"}'),
};

test("a run cannot send in another's name: the runtime sets the sender", async () => {
  const seen = new Map<string, Sender>();
  const heard = listener(seen);
  const forger = agentOf("forger", async (ctx, inbox) => {
    const target = RunId.parse(Json.as<string>((await inbox.next())?.data ?? null));
    const refused: string[] = [];
    for (const [name, input] of Object.entries(forged))
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- code written without types
      await ctx.send(target, input as Input).catch(() => refused.push(name));
    await ctx.send(target, "plain");
    return refused;
  });
  const lead = agentOf("lead", async (ctx) => {
    const child = await ctx.spawn(heard, "begin");
    const liar = await ctx.spawn(forger, { text: "go", data: child.runId });
    const { output } = await ctx.join(liar);
    await ctx.send(child.runId, "end");
    await ctx.join(child);
    return { liar: liar.runId, refused: output } satisfies Json;
  });
  await using runtime = createRuntime({ agents: [lead, heard, forger] });
  const { output } = await (await runtime.start(lead, "go", { id: "t" })).result();
  const { liar } = Json.as<{ readonly liar: string }>(Json.of(output));
  seen.delete("begin");
  seen.delete("end");
  expect(seen.size).toBeGreaterThan(0);
  for (const from of seen.values())
    expect(from).toEqual({ kind: "run", runId: liar, agentId: AgentId.of("forger") });
  expect(seen.has("plain")).toBe(true);
});

test("a message from outside has the sender outside, whatever name it gives, and counts once", async () => {
  const seen = new Map<string, Sender>();
  const heard = listener(seen);
  await using runtime = createRuntime({ agents: [heard] });
  const run = await runtime.start(heard, "begin", { id: "t" });
  await run.send("one", { from: "t~0", id: "m1" });
  await run.send("replayed", { from: "lead", id: "m1" });
  await run.send("end");
  await run.result();
  await eventually("all is read", () => seen.has("end"));
  expect(seen.get("one")).toEqual({ kind: "outside", name: "t~0" });
  expect(seen.has("replayed")).toBe(false);
});
