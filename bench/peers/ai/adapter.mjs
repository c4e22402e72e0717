import * as m from "../../mock.mjs";
import { ToolLoopAgent, tool, isStepCount } from "ai";
import { z } from "zod";
export const name = "Vercel AI SDK";
const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 20, text: 20, reasoning: undefined },
};
// Not MockLanguageModelV4 itself: it keeps every call's options in doGenerateCalls (a leak in a long bench).
const makeModel = (role) => ({
  specificationVersion: "v4",
  provider: "mock",
  modelId: role,
  supportedUrls: {},
  async doGenerate({ prompt }) {
    let step = 0;
    for (let i = prompt.length - 1; i >= 0 && prompt[i].role !== "user"; i--)
      if (prompt[i].role === "assistant") step++;
    if (m.latency()) await m.tick();
    const d = m.decide(role, step, prompt.length);
    return {
      content: d.calls.length
        ? d.calls.map((c) => ({
            type: "tool-call",
            toolCallId: c.id,
            toolName: c.name,
            input: JSON.stringify(c.args),
          }))
        : [{ type: "text", text: d.text }],
      finishReason: { unified: d.calls.length ? "tool-calls" : "stop", raw: undefined },
      usage,
      warnings: [],
    };
  },
  async doStream() {
    let i = -2;
    m.counters.modelCalls++;
    return {
      stream: new ReadableStream({
        pull(c) {
          if (i === -2) c.enqueue({ type: "stream-start", warnings: [] });
          else if (i === -1) c.enqueue({ type: "text-start", id: "1" });
          else if (i < m.N_DELTAS) c.enqueue({ type: "text-delta", id: "1", delta: m.DELTAS[i] });
          else if (i === m.N_DELTAS) c.enqueue({ type: "text-end", id: "1" });
          else {
            c.enqueue({ type: "finish", finishReason: { unified: "stop", raw: undefined }, usage });
            c.close();
          }
          i++;
        },
      }),
    };
  },
});
export async function setup() {
  const lookup = tool({
    description: "look up",
    inputSchema: z.object({ q: z.string(), n: z.number() }),
    execute: (a) => m.lookup(a),
  });
  const mk = (role, tools, extra = {}) =>
    new ToolLoopAgent({
      model: makeModel(role),
      instructions: m.SYSTEM,
      tools,
      stopWhen: isStepCount(500),
      ...extra,
    });
  const child = mk("child3", { lookup });
  const delegate = tool({
    description: "delegate",
    inputSchema: z.object({ q: z.string(), n: z.number() }),
    execute: async ({ q }) => {
      m.counters.delegateCalls++;
      return (await child.generate({ prompt: q })).text;
    },
  });
  const a1 = mk("single", {}),
    a2 = mk("loop10", { lookup }),
    a3 = mk("par50", { lookup }),
    a4 = mk("parent20", { delegate }),
    a5 = mk("stream", {});
  const size = (x) =>
    (typeof x.content === "string"
      ? x.content.length
      : x.content.reduce((s, p) => s + (p.text?.length ?? p.output?.value?.length ?? 40), 0)) / 4;
  const a6 = mk(
    "trim",
    { lookup },
    { prepareStep: ({ messages }) => ({ messages: m.trimSuffix(messages, size, (x) => x.role === "user") }) },
  );
  const hist = m.HIST.flatMap((h) => [
    { role: "user", content: h.user },
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: h.call.id, toolName: h.call.name, input: h.call.args }],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: h.call.id,
          toolName: h.call.name,
          output: { type: "text", value: h.result },
        },
      ],
    },
    { role: "assistant", content: h.answer },
  ]);
  const g = (a) => async () => (await a.generate({ prompt: m.USER })).text;
  return {
    W1: g(a1),
    W2: g(a2),
    W3: g(a3),
    W4: g(a4),
    W5: async () => {
      const r = await a5.stream({ prompt: m.USER });
      let s = "";
      for await (const d of r.textStream) {
        m.counters.deltas++;
        s += d;
      }
      return s;
    },
    W6: async () => (await a6.generate({ messages: [...hist, { role: "user", content: m.USER }] })).text,
  };
}
