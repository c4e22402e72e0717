// The worker of long-run.ts: two long-running agents, and measurements from inside the process.
import { AgentId, type Agent, ChatMessage, type Model, Runtime, agent, tool } from "reeve";
import { restate } from "reeve/engines/restate";
import { z } from "zod";
import { watchingRuns } from "./watching-runs.ts";

/** A message of the worker. */
export type Told =
  | { readonly kind: "ready" }
  /** A piece of work begins: the how many-th. */
  | { readonly kind: "at"; readonly number: number; readonly heapMegabytes: number }
  /** The first new piece of work of an execution, and how long it had replayed until then. */
  | { readonly kind: "resumed"; readonly number: number; readonly replayMs: number };

const [ingress = "", admin = "", port = "", length = "", mode = "", namespace = ""] = process.argv.slice(2);
const total = Number(length);
const every = total / 10;
let began: number | null = null;

const tell = (told: Told): void => void process.send?.(told);

/** Reports the piece of work. The last one of the first worker never ends: that is when it is killed. */
async function work(number: number): Promise<void> {
  if (began !== null && number > 1) tell({ kind: "resumed", number, replayMs: performance.now() - began });
  began = null;
  if (number === 1 || number % every === 0) {
    const heapMegabytes = process.memoryUsage().heapUsed / 1e6;
    tell({ kind: "at", number, heapMegabytes });
  }
  if (number === total && mode === "first") await new Promise(() => {});
}

/** Answers at once, whatever the prompt: a tool call, until the last cycle. */
const model: Model = {
  id: "instant",
  maxOutputTokens: 100,
  async generate({ messages }) {
    const cycle = (messages.length + 1) / 2;
    await work(cycle);
    // At least one token per message: a lower report is not believed, and the whole prompt is measured for each call.
    const usage = { input: 10 * messages.length, output: 5 };
    if (cycle === total) return { message: ChatMessage.assistant("done"), finishReason: "stop", usage };
    const call = { type: "tool-call", callId: `call-${cycle}`, name: "note", input: { cycle } } as const;
    return { message: { role: "assistant", content: [call] }, finishReason: "tool-calls", usage };
  },
};

const note = tool({
  name: "note",
  description: "Take a note",
  input: z.object({ cycle: z.number() }),
  risk: "safe",
  idempotent: true,
  execute: async ({ cycle }) => `noted ${cycle}`,
});

const thinker = agent({ name: "thinker", model, tools: [note] });

const stepper: Agent = {
  id: AgentId.of("stepper"),
  async run(ctx) {
    for (let step = 1; step <= total; step++) await ctx.step("work", () => work(step));
  },
};

const engine = watchingRuns(restate({ ingress, admin, namespace, log: () => undefined }), () => {
  began = performance.now();
});
const runtime = new Runtime({ agents: [thinker, stepper], engine });
await runtime.serve({ port: Number(port) });
process.once("disconnect", () => process.exit());
tell({ kind: "ready" });
