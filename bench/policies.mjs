// node bench/policies.mjs [rounds]: what policies cost, on ten tool turns and the answer (W2). One process for each figure.
import { execFileSync } from "node:child_process";
import { agent, ChatMessage, contentFilter, createRuntime, permissions, tokenLimits, tool } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { z } from "zod";
import { median } from "./figures.mjs";
import * as m from "./mock.mjs";

const rounds = Number(process.argv[2] ?? 9);
const [warmUp, runs] = [200, 150];

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
/** Every result is private and untrusted; nothing leaves, so no approval is requested. */
const labelled = { origin: "web", sensitivity: "private", egress: false };

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
      { verdict: "deny", tool: ["delete_*", "send_*"] },
      { verdict: "deny", risk: "critical" },
      { verdict: "deny", agent: "intern" },
      { verdict: "deny", tool: "lookup", arguments: [{ path: "n", atLeast: 1_000 }] },
    ]),
    flow: labelled,
    guardrails,
    store: memoryStore(),
    approver,
  }),
};

/** The CPU of one run, in microseconds. */
async function measure(name) {
  const { flow, ...policy } = rows[name]();
  const one = agent({ name: "loop10", model, instructions: m.SYSTEM, tools: [lookup(flow)] });
  const runtime = createRuntime({ agents: [one], ...policy });
  const repeat = async (times) => {
    for (let time = 0; time < times; time++) {
      const run = await runtime.start(one, m.USER, { budget: { maxTokens: 10_000_000 } });
      const { status, error } = await run.result();
      if (status !== "completed") throw new Error(`${name}: ${status} ${JSON.stringify(error)}`);
    }
    // Later writes to the store count as part of the run.
    await new Promise((resolve) => setTimeout(resolve, 100));
  };
  await repeat(warmUp);
  const before = process.cpuUsage();
  await repeat(runs);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / runs;
}

const [, path, , only] = process.argv;
if (only !== undefined) {
  console.log(await measure(only));
  process.exit(0);
}

const names = Object.keys(rows);
const samples = {};
for (let round = 0; round < rounds; round++) {
  for (let index = 0; index < names.length; index++) {
    const name = names[(index + round) % names.length];
    (samples[name] ??= []).push(Number(execFileSync(process.execPath, [path, "1", name])));
  }
}
for (const name of names) {
  const ratio = median(samples[name].map((sample, round) => sample / samples.none[round]));
  const least = Math.min(...samples[name]);
  console.log(`${ratio.toFixed(2)} × none, least ${least.toFixed(0)} µs: ${name}`);
}
