import * as m from "../../mock.mjs";
import {
  createAgent,
  tool,
  createMiddleware,
  trimMessages,
  HumanMessage,
  AIMessage,
  ToolMessage,
  SystemMessage,
} from "langchain";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { z } from "zod";
export const name = "LangChain/LangGraph";
class Fake extends BaseChatModel {
  constructor(role) {
    super({});
    this.role = role;
  }
  _llmType() {
    return "fake";
  }
  bindTools(tools) {
    return this;
  }
  async _generate(messages) {
    let step = 0;
    for (let i = messages.length - 1; i >= 0 && messages[i].getType() !== "human"; i--)
      if (messages[i].getType() === "ai") step++;
    if (m.latency()) await m.tick();
    const d = m.decide(this.role, step, messages.length);
    const message = new AIMessage({
      content: d.text,
      tool_calls: d.calls.map((c) => ({
        id: c.id,
        name: c.name,
        args: JSON.parse(JSON.stringify(c.args)),
        type: "tool_call",
      })),
      usage_metadata: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
    });
    return { generations: [{ text: d.text, message }], llmOutput: {} };
  }
  async *_streamResponseChunks(messages, options, runManager) {
    m.counters.modelCalls++;
    for (let i = 0; i < m.N_DELTAS; i++) {
      const c = new ChatGenerationChunk({
        text: m.DELTAS[i],
        message: new AIMessageChunk({ content: m.DELTAS[i] }),
      });
      yield c;
      await runManager?.handleLLMNewToken(m.DELTAS[i], undefined, undefined, undefined, undefined, {
        chunk: c,
      });
    }
  }
}
export async function setup() {
  const schema = z.object({ q: z.string(), n: z.number() });
  const lookup = tool((a) => m.lookup(a), { name: "lookup", description: "look up", schema });
  const mk = (role, tools, extra = {}) =>
    createAgent({ model: new Fake(role), tools, systemPrompt: m.SYSTEM, ...extra });
  const child = mk("child3", [lookup]);
  const last = (r) => r.messages.at(-1).content;
  const delegate = tool(
    async ({ q }) => {
      m.counters.delegateCalls++;
      return last(await child.invoke({ messages: [{ role: "user", content: q }] }, { recursionLimit: 2000 }));
    },
    { name: "delegate", description: "delegate", schema },
  );
  const a1 = mk("single", []),
    a2 = mk("loop10", [lookup]),
    a3 = mk("par50", [lookup]),
    a4 = mk("parent20", [delegate]),
    a5 = mk("stream", []);
  const size = (x) => (typeof x.content === "string" ? x.content.length : 40) / 4;
  const counter = (msgs) => {
    let s = 0;
    for (const x of msgs) s += size(x);
    return s;
  };
  // native trimmer inside the native per-call hook
  const a6 = mk("trim", [lookup], {
    middleware: [
      createMiddleware({
        name: "trim",
        wrapModelCall: async (req, next) =>
          next({
            ...req,
            messages: await trimMessages(req.messages, {
              strategy: "last",
              maxTokens: m.TRIM_TOKENS,
              tokenCounter: counter,
              startOn: "human",
              includeSystem: true,
            }),
          }),
      }),
    ],
  });
  const hist = m.HIST.flatMap((h) => [
    new HumanMessage(h.user),
    new AIMessage({ content: "", tool_calls: [{ ...h.call, type: "tool_call" }] }),
    new ToolMessage({ content: h.result, tool_call_id: h.call.id, name: h.call.name }),
    new AIMessage(h.answer),
  ]);
  const g = (a) => async () =>
    last(await a.invoke({ messages: [{ role: "user", content: m.USER }] }, { recursionLimit: 2000 }));
  return {
    W1: g(a1),
    W2: g(a2),
    W3: g(a3),
    W4: g(a4),
    W5: async () => {
      let s = "";
      for await (const [c] of await a5.stream(
        { messages: [{ role: "user", content: m.USER }] },
        { streamMode: "messages" },
      )) {
        if (m.isDelta(c.content)) {
          m.counters.deltas++;
          s += c.content;
        }
      }
      return s;
    },
    W6: async () =>
      last(await a6.invoke({ messages: [...hist, new HumanMessage(m.USER)] }, { recursionLimit: 2000 })),
  };
}
