// A parent with 20 children of 5 steps each: ours against a hand-written program on the same server.
import { type Context, RestatePromise, service } from "@restatedev/restate-sdk";
import { AgentId, type Agent, Runtime } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { BareWorker } from "./bare-worker.ts";
import { measureAll, print, printPair } from "./measure.ts";

const children = 20;
const stepsPerChild = 5;
const forMs = Number(process.env["BENCH_MS"] ?? 2_000);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3);
const widths = (process.env["BENCH_WIDTHS"] ?? "1,4").split(",").map(Number);
const payload = "x".repeat(100);

const child: Agent = {
  id: AgentId.of("child"),
  async run(ctx) {
    for (let step = 0; step < stepsPerChild; step++) await ctx.step("work", () => payload);
  },
};

const parent: Agent = {
  id: AgentId.of("parent"),
  async run(ctx) {
    const writers = await Promise.all(Array.from({ length: children }, () => ctx.spawn(child, "go")));
    await Promise.all(writers.map((writer) => ctx.join(writer)));
  },
};

await using server = await restateServer();
const bareChild = service({
  name: "child",
  handlers: {
    run: async (ctx: Context) => {
      for (let step = 0; step < stepsPerChild; step++) await ctx.run("work", () => payload);
      return payload;
    },
  },
});
const bareParent = service({
  name: "parent",
  handlers: {
    run: async (ctx: Context) => {
      await RestatePromise.all(Array.from({ length: children }, () => ctx.serviceClient(bareChild).run()));
    },
  },
});
await using bare = await BareWorker.start(server, () => [bareChild, bareParent]);
await using runtime = new Runtime({
  agents: [parent, child],
  engine: restate({ ...server, namespace: "bench" }),
});
await runtime.serve({ port: 0 });

const variants = {
  bare: () => bare.call("/parent/run", null),
  reeve: async () => {
    const { status } = await (await runtime.start(parent, "go")).result();
    if (status !== "completed") throw new Error(`ended ${status}`);
  },
};

const stepsPerRun = children * stepsPerChild;
const figures = await measureAll({ widths, rounds, forMs, stepsPerRun, serverPid: server.pid, variants });

print(["parents at once", "steps/s", "ratio", "ms worker", "ms server", "ratio CPU"]);
for (const lanes of widths) printPair("bare", "reeve", lanes, figures);
