import * as m from "../../mock.mjs";
import { Agent, Runner, tool, setTracingDisabled, Usage } from "@openai/agents";
import { z } from "zod";
export const name = "OpenAI Agents JS";
setTracingDisabled(true); // as shipped it would try to export to OpenAI
class Fake {
  constructor(role) {
    this.role = role;
  }
  async getResponse({ input }) {
    let step = 0,
      n = 1;
    if (typeof input !== "string") {
      n = input.length + 1;
      let prevFc = false;
      for (let i = input.length - 1; i >= 0 && input[i].role !== "user"; i--) {
        const fc = input[i].type === "function_call";
        if (fc && !prevFc) step++;
        prevFc = fc;
        if (input[i].role === "assistant") step++;
      }
    }
    if (m.latency()) await m.tick();
    const d = m.decide(this.role, step, n + (typeof input === "string" ? 1 : 0));
    const output = d.calls.length
      ? d.calls.map((c) => ({
          type: "function_call",
          id: "fc_" + c.id,
          callId: c.id,
          name: c.name,
          status: "completed",
          arguments: JSON.stringify(c.name === "delegate" ? { input: c.args.q } : c.args),
        }))
      : [
          {
            type: "message",
            id: "msg_1",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: d.text }],
          },
        ];
    return {
      usage: new Usage({ requests: 1, inputTokens: 100, outputTokens: 20, totalTokens: 120 }),
      output,
    };
  }
  async *getStreamedResponse() {
    m.counters.modelCalls++;
    yield { type: "response_started" };
    let s = "";
    for (let i = 0; i < m.N_DELTAS; i++) {
      s += m.DELTAS[i];
      yield { type: "output_text_delta", delta: m.DELTAS[i] };
    }
    yield {
      type: "response_done",
      response: {
        id: "r1",
        usage: { requests: 1, inputTokens: 100, outputTokens: 20, totalTokens: 120 },
        output: [
          {
            type: "message",
            id: "msg_1",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: s }],
          },
        ],
      },
    };
  }
}
export async function setup() {
  const lookup = tool({
    name: "lookup",
    description: "look up",
    parameters: z.object({ q: z.string(), n: z.number() }),
    execute: (a) => m.lookup(a),
  });
  const mk = (role, tools) => new Agent({ name: role, instructions: m.SYSTEM, model: new Fake(role), tools });
  const runner = new Runner({ tracingDisabled: true });
  const child = mk("child3", [lookup]);
  const delegate = child.asTool({
    toolName: "delegate",
    toolDescription: "delegate",
    runConfig: { tracingDisabled: true },
    customOutputExtractor: (r) => {
      m.counters.delegateCalls++;
      return r.finalOutput;
    },
  });
  const a1 = mk("single", []),
    a2 = mk("loop10", [lookup]),
    a3 = mk("par50", [lookup]),
    a4 = mk("parent20", [delegate]),
    a5 = mk("stream", []),
    a6 = mk("trim", [lookup]);
  const size = (x) =>
    (typeof x.content === "string"
      ? x.content.length
      : Array.isArray(x.content)
        ? x.content[0].text.length
        : (x.output?.text?.length ?? x.arguments?.length ?? 40)) / 4;
  const hist = m.HIST.flatMap((h) => [
    { role: "user", content: h.user },
    {
      type: "function_call",
      callId: h.call.id,
      name: h.call.name,
      status: "completed",
      arguments: JSON.stringify(h.call.args),
    },
    {
      type: "function_call_result",
      callId: h.call.id,
      name: h.call.name,
      status: "completed",
      output: { type: "text", text: h.result },
    },
    { role: "assistant", status: "completed", content: [{ type: "output_text", text: h.answer }] },
  ]);
  const g = (a) => async () => (await runner.run(a, m.USER, { maxTurns: 500 })).finalOutput;
  return {
    W1: g(a1),
    W2: g(a2),
    W3: g(a3),
    W4: g(a4),
    W5: async () => {
      const r = await runner.run(a5, m.USER, { stream: true });
      let s = "";
      for await (const e of r)
        if (e.type === "raw_model_stream_event" && e.data.type === "output_text_delta") {
          m.counters.deltas++;
          s += e.data.delta;
        }
      await r.completed;
      return s;
    },
    W6: async () =>
      (
        await runner.run(a6, [...hist, { role: "user", content: m.USER }], {
          callModelInputFilter: ({ modelData }) => ({
            ...modelData,
            input: m.trimSuffix(modelData.input, size, (x) => x.role === "user"),
          }),
        })
      ).finalOutput,
  };
}
