// Reeve as users run it: the built package, the local engine, nothing turned off.
import { agent, AgentId, ChatMessage, createRuntime, tool } from "reeve";
import { z } from "zod";
import * as m from "../../mock.mjs";

export const name = "Reeve";

const usage = { ...m.USAGE };

/** A model that answers from the script of a role. */
function model(role, rename = (call) => call) {
  return {
    id: role,
    price: { input: 1_000_000, output: 1_000_000 },
    async generate({ messages }, { onDelta }) {
      if (role === "stream") return stream(onDelta);
      if (m.latency()) await m.tick();
      const { text, calls } = m.decide(role, stepOf(messages), messages.length);
      if (calls.length === 0) return { message: ChatMessage.assistant(text), finishReason: "stop", usage };
      return {
        message: { role: "assistant", content: calls.map((call) => block(rename(call))) },
        finishReason: "tool-calls",
        usage,
      };
    },
  };
}

/** A provider sends arguments as text. */
const block = ({ id, name: called, args }) => ({
  type: "tool-call",
  callId: id,
  name: called,
  input: JSON.parse(JSON.stringify(args)),
});

function stepOf(messages) {
  let step = 0;
  for (let index = messages.length - 1; index >= 0 && messages[index].role !== "user"; index--) {
    if (messages[index].role === "assistant") step += 1;
  }
  return step;
}

async function stream(onDelta) {
  m.counters.modelCalls += 1;
  let text = "";
  for (let index = 0; index < m.N_DELTAS; index++) {
    text += m.DELTAS[index];
    onDelta?.({ kind: "text", text: m.DELTAS[index] });
    if ((index & 15) === 15) await Promise.resolve();
  }
  return { message: ChatMessage.assistant(text), finishReason: "stop", usage };
}

const lookup = tool({
  name: "lookup",
  description: "look up",
  input: z.object({ q: z.string(), n: z.number() }),
  risk: "safe",
  execute: (input) => m.lookup(input),
});

const history = m.HIST.flatMap(({ user, call, result, answer }) => [
  ChatMessage.user(user),
  { role: "assistant", content: [block(call)] },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        callId: call.id,
        name: call.name,
        content: [{ type: "text", text: result }],
        isError: false,
      },
    ],
  },
  ChatMessage.assistant(answer),
]);

const sizeOf = ({ content }) =>
  content.reduce((sum, part) => sum + (part.text ?? part.content?.[0]?.text ?? "x".repeat(40)).length, 0) / 4;

/** An agent of one's own: the history is its business, and so is what of it the model sees. */
const trimmer = {
  id: AgentId.of("trim"),
  model: model("trim"),
  async run(ctx, inbox) {
    const input = await inbox.next();
    const messages = [...history, ChatMessage.user(input.text)];
    const kept = m.trimSuffix(messages, sizeOf, ({ role }) => role === "user");
    const { message } = await ctx.llm([ChatMessage.system(m.SYSTEM), ...kept]);
    return ChatMessage.text(message);
  },
};

/** Waits for a signal, to measure the cost of a live run. */
const sleeper = {
  id: AgentId.of("sleeper"),
  async run(ctx) {
    return ctx.waitFor("go");
  },
};

const made = (role, options = {}) =>
  agent({ name: role, model: model(role, options.rename), instructions: m.SYSTEM, ...options.more });

/** Spawning is a tool like any other: `ask_` and the name. */
function asChild({ id, args }) {
  m.counters.delegateCalls += 1;
  return { id, name: "ask_child3", args: { task: args.q } };
}

/** Options of the runtime, and of each start, make the other rows of this package. */
export function runtimeOf(options = {}) {
  const child = made("child3", { more: { tools: [lookup] } });
  const agents = {
    single: made("single"),
    loop: made("loop10", { more: { tools: [lookup] } }),
    parallel: made("par50", { more: { tools: [lookup] } }),
    parent: made("parent20", { rename: asChild, more: { team: [child] } }),
    stream: made("stream"),
    child,
    trimmer,
    sleeper,
  };
  return { agents, runtime: createRuntime({ agents: Object.values(agents), ...options }) };
}

export async function setup({ options = {}, startOptions = () => ({}) } = {}) {
  const { agents, runtime } = runtimeOf(options);
  const outputOf = async (who) => {
    const terms = { budget: { maxTokens: 10_000_000 }, ...startOptions() };
    const run = await runtime.start(who, m.USER, terms);
    const { output, status, error } = await run.result();
    if (status !== "completed") throw new Error(`${status}: ${JSON.stringify(error)}`);
    return output;
  };
  return {
    W1: () => outputOf(agents.single),
    W2: () => outputOf(agents.loop),
    W3: () => outputOf(agents.parallel),
    W4: () => outputOf(agents.parent),
    W5: async () => {
      const run = await runtime.start(agents.stream, m.USER);
      let text = "";
      for await (const delta of run.deltas()) {
        if (delta.kind !== "reset") m.counters.deltas += 1;
        text += delta.text;
      }
      return text;
    },
    W6: () => outputOf(agents.trimmer),
  };
}
