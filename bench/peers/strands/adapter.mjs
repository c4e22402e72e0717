import * as m from "../../mock.mjs";
import {
  Agent,
  Model,
  tool,
  Message,
  BeforeModelCallEvent,
  NullConversationManager,
} from "@strands-agents/sdk";
import { z } from "zod";
export const name = "Strands TS";
class Fake extends Model {
  constructor(role) {
    super();
    this.role = role;
    this.cfg = { modelId: "fake", contextWindowLimit: 200000 };
  }
  updateConfig(c) {
    Object.assign(this.cfg, c);
  }
  getConfig() {
    return this.cfg;
  }
  async *stream(messages) {
    if (this.role === "stream") {
      m.counters.modelCalls++;
      yield { type: "modelMessageStartEvent", role: "assistant" };
      yield { type: "modelContentBlockStartEvent" };
      for (let i = 0; i < m.N_DELTAS; i++)
        yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text: m.DELTAS[i] } };
      yield { type: "modelContentBlockStopEvent" };
      yield { type: "modelMessageStopEvent", stopReason: "endTurn" };
      yield { type: "modelMetadataEvent", usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120 } };
      return;
    }
    // tool results are role:'user' in Strands -> a "real" user message is one that has a text block
    let step = 0;
    for (let i = messages.length - 1; i >= 0; i--) {
      if (messages[i].role === "assistant") step++;
      else if (messages[i].content[0]?.type === "textBlock") break;
    }
    if (m.latency()) await m.tick();
    const d = m.decide(this.role, step, messages.length + 1);
    yield { type: "modelMessageStartEvent", role: "assistant" };
    if (d.calls.length)
      for (const c of d.calls) {
        yield {
          type: "modelContentBlockStartEvent",
          start: { type: "toolUseStart", name: c.name, toolUseId: c.id },
        };
        yield {
          type: "modelContentBlockDeltaEvent",
          delta: { type: "toolUseInputDelta", input: JSON.stringify(c.args) },
        };
        yield { type: "modelContentBlockStopEvent" };
      }
    else {
      yield { type: "modelContentBlockStartEvent" };
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text: d.text } };
      yield { type: "modelContentBlockStopEvent" };
    }
    yield { type: "modelMessageStopEvent", stopReason: d.calls.length ? "toolUse" : "endTurn" };
    yield { type: "modelMetadataEvent", usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120 } };
  }
}
export async function setup() {
  const schema = z.object({ q: z.string(), n: z.number() });
  const lookup = tool({
    name: "lookup",
    description: "look up",
    inputSchema: schema,
    callback: (a) => m.lookup(a),
  });
  const models = {};
  const model = (r) => (models[r] ??= new Fake(r));
  // Strands agents are stateful with an invocation lock -> a fresh Agent per run is the idiom
  const mk = (role, tools, messages = []) =>
    new Agent({
      name: role,
      model: model(role),
      tools,
      systemPrompt: m.SYSTEM,
      printer: false,
      messages,
      conversationManager: new NullConversationManager(),
    });
  const text = (r) => r.lastMessage.content.map((b) => b.text ?? "").join("");
  const delegate = tool({
    name: "delegate",
    description: "delegate",
    inputSchema: schema,
    callback: async ({ q }) => {
      m.counters.delegateCalls++;
      return text(await mk("child3", [lookup]).invoke(q));
    },
  });
  const g = (role, tools) => async () => text(await mk(role, tools).invoke(m.USER));
  const size = (x) =>
    x.content.reduce((s, p) => s + (p.text?.length ?? p.content?.[0]?.text?.length ?? 40), 0) / 4;
  const histData = m.HIST.flatMap((h) => [
    { role: "user", content: [{ text: h.user }] },
    {
      role: "assistant",
      content: [{ toolUse: { name: h.call.name, toolUseId: h.call.id, input: h.call.args } }],
    },
    {
      role: "user",
      content: [{ toolResult: { toolUseId: h.call.id, status: "success", content: [{ text: h.result }] } }],
    },
    { role: "assistant", content: [{ text: h.answer }] },
  ]);
  const hist = histData.map((d) => (Message.fromMessageData ? Message.fromMessageData(d) : d));
  return {
    W1: g("single", []),
    W2: g("loop10", [lookup]),
    W3: g("par50", [lookup]),
    W4: g("parent20", [delegate]),
    W5: async () => {
      let s = "";
      for await (const e of mk("stream", []).stream(m.USER)) {
        const ev = e.type === "modelStreamUpdateEvent" ? e.event : e;
        if (ev.type === "modelContentBlockDeltaEvent") {
          m.counters.deltas++;
          s += ev.delta.text;
        }
      }
      return s;
    },
    W6: async () => {
      const a = mk("trim", [lookup], hist.slice());
      a.addHook(BeforeModelCallEvent, (e) => {
        e.agent.messages = m.trimSuffix(
          e.agent.messages,
          size,
          (x) => x.role === "user" && x.content[0].type === "textBlock",
        );
      });
      return text(await a.invoke(m.USER));
    },
  };
}
