import * as m from "../../mock.mjs";
import { Agent } from "@earendil-works/pi-agent-core";
import { createAssistantMessageEventStream } from "@earendil-works/pi-ai";
import { Type } from "typebox";
export const name = "pi agent-core";
const MODEL = {
  id: "fake",
  name: "fake",
  api: "fake",
  provider: "fake",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 200000,
  maxTokens: 8000,
};
const usage = () => ({
  input: 100,
  output: 20,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 120,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
});
const base = () => ({
  role: "assistant",
  content: [],
  api: "fake",
  provider: "fake",
  model: "fake",
  usage: usage(),
  stopReason: "stop",
  timestamp: Date.now(),
});
const streamFn = (role) => async (model, context) => {
  const messages = context.messages;
  let step = 0;
  for (let i = messages.length - 1; i >= 0 && messages[i].role !== "user"; i--)
    if (messages[i].role === "assistant") step++;
  const s = createAssistantMessageEventStream();
  if (role === "stream") {
    m.counters.modelCalls++;
    (async () => {
      const msg = base();
      msg.content.push({ type: "text", text: "" });
      s.push({ type: "start", partial: msg });
      s.push({ type: "text_start", contentIndex: 0, partial: msg });
      for (let i = 0; i < m.N_DELTAS; i++) {
        msg.content[0].text += m.DELTAS[i];
        s.push({ type: "text_delta", contentIndex: 0, delta: m.DELTAS[i], partial: msg });
        if ((i & 15) === 15) await null;
      }
      s.push({ type: "text_end", contentIndex: 0, content: msg.content[0].text, partial: msg });
      s.push({ type: "done", reason: "stop", message: msg });
      s.end(msg);
    })();
    return s;
  }
  if (m.latency()) await m.tick();
  const d = m.decide(role, step, messages.length);
  const msg = base();
  if (d.calls.length) {
    msg.stopReason = "toolUse";
    msg.content = d.calls.map((c) => ({
      type: "toolCall",
      id: c.id,
      name: c.name,
      arguments: JSON.parse(JSON.stringify(c.args)),
    }));
  } else msg.content = [{ type: "text", text: d.text }];
  s.push({ type: "start", partial: msg });
  s.push({ type: "done", reason: msg.stopReason, message: msg });
  s.end(msg);
  return s;
};
export async function setup() {
  const parameters = Type.Object({ q: Type.String(), n: Type.Number() });
  const lookup = {
    name: "lookup",
    label: "lookup",
    description: "look up",
    parameters,
    execute: async (id, a) => ({ content: [{ type: "text", text: await m.lookup(a) }], details: undefined }),
  };
  const out = (a) => {
    const x = a.state.messages.at(-1);
    if (a.state.errorMessage) throw new Error(a.state.errorMessage);
    return x.content.map((c) => c.text ?? "").join("");
  };
  // pi agents are stateful (one conversation each) -> a fresh Agent per run is the idiom
  const mk = (role, tools, extra = {}, messages = []) =>
    new Agent({
      initialState: { systemPrompt: m.SYSTEM, model: MODEL, tools, messages },
      streamFn: streamFn(role),
      ...extra,
    });
  const delegate = {
    name: "delegate",
    label: "delegate",
    description: "delegate",
    parameters,
    execute: async (id, { q }) => {
      m.counters.delegateCalls++;
      const c = mk("child3", [lookup]);
      await c.prompt(q);
      return { content: [{ type: "text", text: out(c) }], details: undefined };
    },
  };
  const g = (role, tools) => async () => {
    const a = mk(role, tools);
    await a.prompt(m.USER);
    return out(a);
  };
  const size = (x) =>
    (typeof x.content === "string"
      ? x.content.length
      : x.content.reduce((s, p) => s + (p.text?.length ?? 40), 0)) / 4;
  const hist = m.HIST.flatMap((h) => [
    { role: "user", content: [{ type: "text", text: h.user }], timestamp: 1 },
    {
      ...base(),
      stopReason: "toolUse",
      content: [{ type: "toolCall", id: h.call.id, name: h.call.name, arguments: h.call.args }],
    },
    {
      role: "toolResult",
      toolCallId: h.call.id,
      toolName: h.call.name,
      content: [{ type: "text", text: h.result }],
      isError: false,
      timestamp: 1,
    },
    { ...base(), content: [{ type: "text", text: h.answer }] },
  ]);
  return {
    W1: g("single", []),
    W2: g("loop10", [lookup]),
    W3: g("par50", [lookup]),
    W4: g("parent20", [delegate]),
    W5: async () => {
      const a = mk("stream", []);
      let s = "";
      a.subscribe((e) => {
        if (e.type === "message_update" && e.assistantMessageEvent.type === "text_delta") {
          m.counters.deltas++;
          s += e.assistantMessageEvent.delta;
        }
      });
      await a.prompt(m.USER);
      return s;
    },
    W6: async () => {
      const a = mk(
        "trim",
        [lookup],
        {
          transformContext: async (msgs) => [
            msgs[0],
            ...m.trimSuffix(msgs.slice(1), size, (x) => x.role === "user"),
          ],
        },
        hist,
      );
      await a.prompt(m.USER);
      return out(a);
    },
  };
}
