// Steps per second: ours against a hand-written program on the same server.
import { randomUUID } from "node:crypto";
import { type Context, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { AgentId, type Agent, ChatMessage, type Model, Runtime } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { BareWorker } from "./bare-worker.ts";
import { measureAll, print, printPair } from "./measure.ts";

const stepsPerRun = Number(process.env["BENCH_STEPS"] ?? 10);
const forMs = Number(process.env["BENCH_MS"] ?? 1_500);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3);
const widths = (process.env["BENCH_WIDTHS"] ?? "1,16,64").split(",").map(Number);
const payload = "x".repeat(100);

const model: Model = {
  id: "instant",
  generate: async () => ({
    message: ChatMessage.assistant(payload),
    finishReason: "stop",
    usage: { input: 10, output: 5 },
  }),
};

const plain: Agent = {
  id: AgentId.of("plain"),
  async run(ctx) {
    for (let step = 0; step < stepsPerRun; step++) await ctx.step("work", () => payload);
  },
};

const gated: Agent = {
  id: AgentId.of("gated"),
  model,
  async run(ctx) {
    for (let step = 0; step < stepsPerRun; step++) await ctx.llm([ChatMessage.user("go on")]);
  },
};

await using server = await restateServer();
await using bare = await BareWorker.start(server, (worker) => [
  service({
    name: "plain",
    handlers: {
      run: async (ctx: Context) => {
        for (let step = 0; step < stepsPerRun; step++) await ctx.run("work", () => payload);
      },
    },
  }),
  service({
    name: "gated",
    handlers: {
      run: async (ctx: Context, key: string) => {
        for (let step = 0; step < stepsPerRun; step++)
          await ctx.run("work", async () => {
            await worker().call(`/gate/${key}/begin`, { step });
            return payload;
          });
      },
    },
  }),
  object({
    name: "gate",
    handlers: {
      begin: async (ctx: ObjectContext) => {
        for (const key of ["tree", "slots", "run"]) {
          const count = (await ctx.get<number>(key)) ?? 0;
          ctx.set(key, count + 1);
        }
        return true;
      },
    },
  }),
]);
const engine = restate({ ...server, namespace: "bench" });
await using runtime = new Runtime({ agents: [plain, gated], engine });
await runtime.serve({ port: 0 });

const start = async (agent: Agent): Promise<void> => {
  const { status } = await (await runtime.start(agent, "go")).result();
  if (status !== "completed") throw new Error(`${agent.id} ended ${status}`);
};
const variants: Readonly<Record<string, () => Promise<unknown>>> = {
  "a bare": () => bare.call("/plain/run", null),
  "b ours": () => start(plain),
  "c bare, gated": () => bare.call("/gated/run", randomUUID()),
  "d ours, gated": () => start(gated),
};

const figures = await measureAll({ widths, rounds, forMs, stepsPerRun, serverPid: server.pid, variants });

print(["runs at once", "steps/s", "ratio", "ms worker", "ms server", "ratio CPU"]);
for (const lanes of widths) {
  printPair("a bare", "b ours", lanes, figures);
  printPair("c bare, gated", "d ours, gated", lanes, figures);
}
