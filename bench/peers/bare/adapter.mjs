// The physical limit: a hand-written loop calling the mock directly. JSON-parses arguments because a provider sends strings.
import * as m from "../../mock.mjs";
export const name = "bare loop";
async function model(role, messages) {
  let step = 0;
  for (let i = messages.length - 1; i >= 0 && messages[i].role !== "user"; i--)
    if (messages[i].role === "assistant") step++;
  if (m.latency()) await m.tick();
  const d = m.decide(role, step, messages.length);
  return {
    text: d.text,
    calls: d.calls.map((c) => ({ id: c.id, name: c.name, args: JSON.stringify(c.args) })),
    usage: m.USAGE,
  };
}
async function run(role, tools, input, history = []) {
  const messages = [{ role: "system", content: m.SYSTEM }, ...history, { role: "user", content: input }];
  let inTok = 0,
    outTok = 0;
  for (let turn = 0; turn < 500; turn++) {
    const r = await model(role, messages);
    inTok += r.usage.input;
    outTok += r.usage.output;
    messages.push({ role: "assistant", content: r.text, calls: r.calls });
    if (!r.calls.length) return r.text;
    const results = await Promise.all(r.calls.map((c) => tools[c.name](JSON.parse(c.args))));
    for (let i = 0; i < results.length; i++)
      messages.push({ role: "tool", id: r.calls[i].id, content: results[i] });
  }
}
async function* streamModel() {
  for (let i = 0; i < m.N_DELTAS; i++) yield m.DELTAS[i];
}
export async function setup() {
  const tools = { lookup: m.lookup };
  const ptools = {
    delegate: async ({ q }) => {
      m.counters.delegateCalls++;
      return run("child3", tools, q);
    },
  };
  const hist = m.HIST.flatMap((h) => [
    { role: "user", content: h.user },
    { role: "assistant", content: "", calls: [{ ...h.call, args: JSON.stringify(h.call.args) }] },
    { role: "tool", id: h.call.id, content: h.result },
    { role: "assistant", content: h.answer, calls: [] },
  ]);
  const size = (x) => (x.content.length + (x.calls?.[0] ? x.calls[0].args.length : 0)) / 4;
  return {
    W1: () => run("single", {}, m.USER),
    W2: () => run("loop10", tools, m.USER),
    W3: () => run("par50", tools, m.USER),
    W4: () => run("parent20", ptools, m.USER),
    W5: async () => {
      let s = "";
      for await (const d of streamModel()) {
        m.counters.deltas++;
        s += d;
      }
      return s;
    },
    W6: () =>
      run(
        "trim",
        tools,
        m.USER,
        m.trimSuffix(hist, size, (x) => x.role === "user"),
      ),
  };
}
