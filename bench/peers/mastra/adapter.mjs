process.env.MASTRA_TELEMETRY_DISABLED ??= "1";
import * as m from "../../mock.mjs";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
export const name = "Mastra";
const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 20, text: 20, reasoning: undefined },
};
const finish = (r) => ({ type: "finish", finishReason: { unified: r, raw: undefined }, usage });
const makeModel = (role) => ({
  specificationVersion: "v4",
  provider: "mock",
  modelId: role,
  supportedUrls: {},
  next(prompt) {
    let step = 0;
    for (let i = prompt.length - 1; i >= 0 && prompt[i].role !== "user"; i--)
      if (prompt[i].role === "assistant") step++;
    return m.decide(role, step, prompt.length);
  },
  content(d) {
    return d.calls.length
      ? d.calls.map((c) => ({
          type: "tool-call",
          toolCallId: c.id,
          toolName: c.name === "delegate" ? "agent-child" : c.name,
          input: JSON.stringify(c.name === "delegate" ? { prompt: c.args.q } : c.args),
        }))
      : [{ type: "text", text: d.text }];
  },
  async doGenerate({ prompt }) {
    if (m.latency()) await m.tick();
    const d = this.next(prompt);
    return {
      content: this.content(d),
      finishReason: { unified: d.calls.length ? "tool-calls" : "stop", raw: undefined },
      usage,
      warnings: [],
    };
  },
  async doStream({ prompt }) {
    if (role === "stream") {
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
              c.enqueue(finish("stop"));
              c.close();
            }
            i++;
          },
        }),
      };
    }
    if (m.latency()) await m.tick();
    const d = this.next(prompt);
    const parts = [
      { type: "stream-start", warnings: [] },
      ...this.content(d).flatMap((p) =>
        p.type === "text"
          ? [
              { type: "text-start", id: "1" },
              { type: "text-delta", id: "1", delta: p.text },
              { type: "text-end", id: "1" },
            ]
          : [p],
      ),
      finish(d.calls.length ? "tool-calls" : "stop"),
    ];
    return {
      stream: new ReadableStream({
        start(c) {
          for (const p of parts) c.enqueue(p);
          c.close();
        },
      }),
    };
  },
});
export async function setup() {
  const lookup = createTool({
    id: "lookup",
    description: "look up",
    inputSchema: z.object({ q: z.string(), n: z.number() }),
    execute: (a) => m.lookup(a.context ?? a),
  });
  const mk = (role, tools, extra = {}) =>
    new Agent({
      id: role,
      name: role,
      description: role,
      instructions: m.SYSTEM,
      model: makeModel(role),
      tools,
      ...extra,
    });
  const child = mk("child3", { lookup });
  const o = { maxSteps: 500 };
  const a1 = mk("single", {}),
    a2 = mk("loop10", { lookup }),
    a3 = mk("par50", { lookup }),
    a4 = mk("parent20", {}, { agents: { child } }),
    a5 = mk("stream", {});
  const size = (x) =>
    (typeof x.content === "string"
      ? x.content.length
      : (x.content.parts ?? x.content).reduce(
          (s, p) => s + (p.text?.length ?? p.toolInvocation?.result?.length ?? p.output?.value?.length ?? 40),
          0,
        )) / 4;
  // native per-step hook (processors); same chars/4 counter instead of the js-tiktoken TokenLimiter, to compare assembly not tokenisers
  const trim = {
    id: "trim",
    processInputStep: ({ messages }) => ({
      messages: m.trimSuffix(messages, size, (x) => x.role === "user"),
    }),
  };
  const a6 = mk("trim", { lookup }, { inputProcessors: [trim] });
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
  const g = (a) => async () => (await a.generate(m.USER, o)).text;
  return {
    W1: g(a1),
    W2: g(a2),
    W3: g(a3),
    W4: g(a4),
    W5: async () => {
      const r = await a5.stream(m.USER, o);
      let s = "";
      for await (const d of r.textStream) {
        m.counters.deltas++;
        s += d;
      }
      return s;
    },
    W6: async () => (await a6.generate([...hist, { role: "user", content: m.USER }], o)).text,
  };
}
