// Gated steps per second of many agents in one tree, against the same number of separate trees on the same server.
import { AgentId, type Agent, ChatMessage, type Model, Runtime } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { median, print } from "./measure.ts";

const stepsPerAgent = Number(process.env["BENCH_STEPS"] ?? 10);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3);
const widths = (process.env["BENCH_WIDTHS"] ?? "64,200").split(",").map(Number);

/** The times of all model calls of a measurement. They exclude spawning and ending. */
let times: number[] = [];

const model: Model = {
  id: "instant",
  async generate() {
    times.push(performance.now());
    return {
      message: ChatMessage.assistant("x".repeat(100)),
      finishReason: "stop",
      usage: { input: 10, output: 5 },
    };
  },
};

const member: Agent = {
  id: AgentId.of("member"),
  model,
  async run(ctx) {
    for (let step = 0; step < stepsPerAgent; step++) await ctx.llm([ChatMessage.user("go on")]);
  },
};

const parent: Agent = {
  id: AgentId.of("parent"),
  async run(ctx, inbox) {
    const count = Number((await inbox.next())?.text);
    const members = await Promise.all(Array.from({ length: count }, () => ctx.spawn(member, "go")));
    await Promise.all(members.map((one) => ctx.join(one)));
  },
};

await using server = await restateServer();
await using runtime = new Runtime({
  agents: [parent, member],
  engine: restate({ ...server, namespace: "bench" }),
});
await runtime.serve({ port: 0 });

const variants: Readonly<Record<string, (width: number) => Promise<unknown>>> = {
  "separate trees": (width) =>
    Promise.all(Array.from({ length: width }, async () => (await runtime.start(member, "go")).result())),
  "one tree": async (width) => {
    const spawn = { maxAgents: width + 1 };
    return (await runtime.start(parent, String(width), { spawn })).result();
  },
};

/** Returns the steps per second between the first and the last model call. */
async function measure(variant: string, width: number): Promise<number> {
  times = [];
  await variants[variant]?.(width);
  if (times.length !== width * stepsPerAgent) throw new Error(`${variant}: ${times.length} steps`);
  return ((times.length - 1) * 1000) / (Math.max(...times) - Math.min(...times));
}

print(["agents", "separate", "one tree", "ratio"]);
for (const width of widths) {
  const ratios: number[] = [];
  let [separate, together] = [0, 0];
  for (let round = 0; round <= rounds; round++) {
    [separate, together] = [await measure("separate trees", width), await measure("one tree", width)];
    if (round > 0) ratios.push(together / separate);
  }
  print([String(width), separate, together, median(ratios)]);
}
