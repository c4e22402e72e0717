import * as m from "../../mock.mjs";
import {
  LlmAgent,
  BaseLlm,
  FunctionTool,
  AgentTool,
  Runner,
  InMemorySessionService,
  StreamingMode,
  createEvent,
} from "@google/adk";
import { z } from "zod";
export const name = "Google ADK JS";
const um = { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 };
class Fake extends BaseLlm {
  constructor(role) {
    super({ model: "fake" });
    this.role = role;
  }
  async connect() {
    throw new Error("no");
  }
  async *generateContentAsync(req, stream) {
    const c = req.contents;
    if (this.role === "stream") {
      m.counters.modelCalls++;
      let s = "";
      for (let i = 0; i < m.N_DELTAS; i++) {
        s += m.DELTAS[i];
        yield { content: { role: "model", parts: [{ text: m.DELTAS[i] }] }, partial: true };
      }
      yield {
        content: { role: "model", parts: [{ text: s }] },
        partial: false,
        turnComplete: true,
        usageMetadata: um,
      };
      return;
    }
    let step = 0;
    for (let i = c.length - 1; i >= 0; i--) {
      if (c[i].role === "model") step++;
      else if (c[i].parts[0].text !== undefined) break;
    }
    if (m.latency()) await m.tick();
    const d = m.decide(this.role, step, c.length + 1);
    yield {
      content: {
        role: "model",
        parts: d.calls.length
          ? d.calls.map((x) => ({
              functionCall: {
                id: x.id,
                name: x.name === "delegate" ? "child3" : x.name,
                args: x.name === "delegate" ? { request: x.args.q } : { ...x.args },
              },
            }))
          : [{ text: d.text }],
      },
      usageMetadata: um,
    };
  }
}
export async function setup() {
  const lookup = new FunctionTool({
    name: "lookup",
    description: "look up",
    parameters: z.object({ q: z.string(), n: z.number() }),
    execute: (a) => m.lookup(a),
  });
  const mk = (role, tools, extra = {}) =>
    new LlmAgent({
      name: role,
      description: role,
      model: new Fake(role),
      instruction: m.SYSTEM,
      tools,
      ...extra,
    });
  const mkRunner = (agent) =>
    new Runner({ agent, appName: "bench", sessionService: new InMemorySessionService() });
  const child = mk("child3", [lookup]);
  const delegate = new AgentTool({ agent: child });
  const size = (x) =>
    x.parts.reduce((s, p) => s + (p.text?.length ?? p.functionResponse?.response?.result?.length ?? 40), 0) /
    4;
  const a6 = mk("trim", [lookup], {
    beforeModelCallback: ({ request }) => {
      request.contents = m.trimSuffix(
        request.contents,
        size,
        (x) => x.role === "user" && x.parts[0].text !== undefined,
      );
      return undefined;
    },
  });
  const last = async (it) => {
    let t = "";
    for await (const e of it) {
      const p = e.content?.parts;
      if (p && p[0]?.text !== undefined && !e.partial) t = p[0].text;
      if (e.errorMessage) throw new Error(e.errorMessage);
    }
    return t;
  };
  const g = (agent) => {
    const r = mkRunner(agent);
    return () =>
      last(r.runEphemeral({ userId: "u", newMessage: { role: "user", parts: [{ text: m.USER }] } }));
  };
  const events = m.HIST.flatMap((h) => [
    { author: "user", content: { role: "user", parts: [{ text: h.user }] } },
    {
      author: "trim",
      content: {
        role: "model",
        parts: [{ functionCall: { id: h.call.id, name: h.call.name, args: h.call.args } }],
      },
    },
    {
      author: "trim",
      content: {
        role: "user",
        parts: [{ functionResponse: { id: h.call.id, name: h.call.name, response: { result: h.result } } }],
      },
    },
    { author: "trim", content: { role: "model", parts: [{ text: h.answer }] } },
  ]);
  const r5 = mkRunner(mk("stream", [])),
    r6 = mkRunner(a6);
  // history session is created once; each run restores it to 200 events (ADK appends to its session)
  const ss = r6.sessionService;
  const s6 = await ss.createSession({ appName: "bench", userId: "u" });
  for (const e of events)
    await ss.appendEvent({ session: s6, event: createEvent({ ...e, invocationId: "h" }) });
  return {
    W1: g(mk("single", [])),
    W2: g(mk("loop10", [lookup])),
    W3: g(mk("par50", [lookup])),
    W4: g(mk("parent20", [delegate])),
    W5: async () => {
      let s = "";
      for await (const e of r5.runEphemeral({
        userId: "u",
        newMessage: { role: "user", parts: [{ text: m.USER }] },
        runConfig: { streamingMode: StreamingMode.SSE },
      }))
        if (e.partial) {
          m.counters.deltas++;
          s += e.content.parts[0].text;
        }
      return s;
    },
    W6: async () => {
      const t = await last(
        r6.runAsync({
          userId: "u",
          sessionId: s6.id,
          newMessage: { role: "user", parts: [{ text: m.USER }] },
        }),
      );
      const st = ss.sessions?.bench?.u?.[s6.id];
      if (st) st.events.length = 200;
      return t;
    },
  };
}
