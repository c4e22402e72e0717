// node bench/policies.mjs [rounds] [runs]: what policies cost, on ten tool turns and the answer (W2).
import { agent, ChatMessage, contentFilter, createRuntime, permissions, tokenLimits, tool } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { z } from "zod";
import { median } from "./figures.mjs";
import * as m from "./mock.mjs";

const rounds = Number(process.argv[2] ?? 15);
const runs = Number(process.argv[3] ?? 60);

const model = {
  id: "loop10",
  price: { input: 1_000_000, output: 1_000_000 },
  async generate({ messages }) {
    const step = messages.filter(({ role }) => role === "assistant").length;
    const { text, calls } = m.decide("loop10", step, messages.length);
    const blocks = calls.map(({ id, name, args }) => ({ type: "tool-call", callId: id, name, input: args }));
    const message =
      blocks.length === 0 ? ChatMessage.assistant(text) : { role: "assistant", content: blocks };
    return { message, finishReason: blocks.length === 0 ? "stop" : "tool-calls", usage: { ...m.USAGE } };
  },
};

const lookup = (flow = {}) =>
  tool({
    name: "lookup",
    description: "look up",
    input: z.object({ q: z.string(), n: z.number() }),
    risk: "safe",
    execute: (input) => m.lookup(input),
    ...flow,
  });

const rules = permissions([
  { verdict: "deny", tool: "delete_*" },
  { verdict: "deny", risk: "critical" },
  { verdict: "ask", tool: "send_*", arguments: [{ path: "to", endsWith: "@example.com" }] },
  { verdict: "deny", agent: "intern", tool: "*" },
  { verdict: "allow", tool: "lookup", arguments: [{ path: "n", atMost: 1_000 }] },
]);
const guardrails = [contentFilter({ patterns: [/\d{13,16}/, "secret"] }), tokenLimits({ input: 100_000 })];
const asking = permissions([{ verdict: "ask", tool: "lookup" }]);
const approver = () => ({ decision: "approved" });
/** Every result is private and may be a stranger's; nothing leaves, so nobody is asked. */
const labelled = { origin: "web", sensitivity: "private", outside: false };

const rows = {
  none: () => ({}),
  "permission rules": () => ({ permissions: rules }),
  labels: () => ({ flow: labelled }),
  guardrails: () => ({ guardrails }),
  "events and audit in a memory store": () => ({ store: memoryStore() }),
  "an approver by code, asked about every call": () => ({ permissions: asking, approver }),
  "all of it, the approver asked about every call": () => ({
    permissions: permissions([
      { verdict: "ask", tool: "lookup" },
      ...Array(4).fill({ verdict: "deny", tool: "x_*" }),
    ]),
    flow: labelled,
    guardrails,
    store: memoryStore(),
    approver,
  }),
};

const runners = Object.fromEntries(
  Object.entries(rows).map(([name, options]) => {
    const { flow, ...policy } = options();
    const one = agent({ name: "loop10", model, instructions: m.SYSTEM, tools: [lookup(flow)] });
    const runtime = createRuntime({ agents: [one], ...policy });
    const run = async () => {
      const started = await runtime.start(one, m.USER, { budget: { maxTokens: 10_000_000 } });
      const { status, error } = await started.result();
      if (status !== "completed") throw new Error(`${name}: ${status} ${JSON.stringify(error)}`);
    };
    return [name, run];
  }),
);

const names = Object.keys(runners);
const samples = {};
for (const name of names) for (let run = 0; run < runs; run++) await runners[name]();
for (let round = 0; round < rounds; round++) {
  for (let index = 0; index < names.length; index++) {
    const name = names[(index + round) % names.length];
    globalThis.gc?.();
    const before = process.cpuUsage();
    for (let run = 0; run < runs; run++) await runners[name]();
    // What a store is told later belongs to the run.
    await new Promise((resolve) => setTimeout(resolve, 60));
    const { user, system } = process.cpuUsage(before);
    (samples[name] ??= []).push((user + system) / runs);
  }
}
for (const name of names) {
  const ratio = median(samples[name].map((sample, round) => sample / samples.none[round]));
  const least = Math.min(...samples[name]);
  console.log(`${ratio.toFixed(2)} × none, least ${least.toFixed(0)} µs: ${name}`);
}
process.exit(0);
