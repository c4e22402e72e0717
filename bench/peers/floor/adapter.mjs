// Reference floor for OUR promises: bare loop + reservation/settlement, headcount slots, cancellation, arg validation, permission check,
// 4 hash-chained audit events per step, 1 hook listener. Journal = none (in-memory). Not a framework; the price of the obligations themselves.
import * as m from "../../mock.mjs";
import { createHash } from "node:crypto";
import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
const { z } = createRequire(new URL("../ai/package.json", import.meta.url))("zod");
export const name = "floor (obligations, in-memory)";
export const journal = { write: null }; // floorsql sets this
const als = new AsyncLocalStorage();
let runSeq = 0;
const listeners = [() => {}];
const schema = z.object({ q: z.string(), n: z.number() });
const policy = new Map([
  ["lookup", "allow"],
  ["delegate", "allow"],
]);
class Run {
  constructor(parent) {
    this.id = "run" + runSeq++;
    this.root = parent ? parent.root : this;
    if (!parent) {
      this.seq = 0;
      this.prev = "";
      this.cap = 1e9;
      this.spent = 0;
      this.reserved = 0;
      this.slots = 1;
      this.max = 50;
    }
    this.ac = new AbortController();
    if (parent) parent.ac.signal.addEventListener("abort", () => this.ac.abort(), { once: true });
  }
  emit(type, data) {
    const r = this.root,
      body = JSON.stringify({
        run: r.id,
        agent: this.id,
        seq: r.seq++,
        type,
        data,
        ts: Date.now(),
        prev: r.prev,
      });
    r.prev = createHash("sha256").update(body).digest("base64");
    for (const l of listeners) l(body);
    journal.write?.(r.id, r.seq, body);
  }
  check() {
    if (this.ac.signal.aborted) throw new Error("cancelled");
  }
  reserve(n) {
    const r = this.root;
    if (r.spent + r.reserved + n > r.cap) throw new Error("budget");
    r.reserved += n;
  }
  settle(n, real) {
    const r = this.root;
    r.reserved -= n;
    r.spent += real;
  }
  spawn() {
    const r = this.root;
    if (r.slots >= r.max) throw new Error("headcount");
    r.slots++;
    return new Run(this);
  }
  done() {
    if (this.root !== this) this.root.slots--;
  }
}
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
async function loop(role, tools, input, run, history = []) {
  return als.run(run, async () => {
    const messages = [{ role: "system", content: m.SYSTEM }, ...history, { role: "user", content: input }];
    run.emit("run.start", { role });
    try {
      for (let turn = 0; turn < 500; turn++) {
        run.check();
        const est = 500;
        run.reserve(est);
        run.emit("llm.start", { turn, est });
        let r;
        try {
          r = await model(role, messages);
        } catch (e) {
          run.settle(est, est);
          throw e;
        }
        run.settle(est, r.usage.input + r.usage.output);
        run.emit("llm.end", { turn, usage: r.usage, text: r.text, calls: r.calls });
        messages.push({ role: "assistant", content: r.text, calls: r.calls });
        if (!r.calls.length) return r.text;
        const results = await Promise.all(
          r.calls.map(async (c) => {
            run.check();
            if (policy.get(c.name) !== "allow") throw new Error("denied");
            const a = schema.parse(JSON.parse(c.args));
            run.emit("tool.start", {
              id: c.id,
              name: c.name,
              key: run.id + "/" + turn + "/" + c.id,
              args: c.args,
            });
            const out = await tools[c.name](a, run);
            run.emit("tool.end", { id: c.id, out });
            return out;
          }),
        );
        for (let i = 0; i < results.length; i++)
          messages.push({ role: "tool", id: r.calls[i].id, content: results[i] });
      }
    } finally {
      run.emit("run.end", {});
      run.done();
    }
  });
}
async function* streamModel() {
  for (let i = 0; i < m.N_DELTAS; i++) yield m.DELTAS[i];
}
async function* streamRun(run) {
  run.emit("run.start", {});
  run.reserve(5000);
  let n = 0,
    text = "";
  try {
    for await (const d of streamModel()) {
      if (run.ac.signal.aborted) throw new Error("cancelled");
      n++;
      text += d;
      yield { type: "delta", seq: n, text: d };
    }
  } finally {
    run.settle(5000, n);
    run.emit("llm.end", { text });
  }
}
export async function setup() {
  const tools = { lookup: m.lookup };
  const ptools = {
    delegate: ({ q }, run) => {
      m.counters.delegateCalls++;
      return loop("child3", tools, q, run.spawn());
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
    W1: () => loop("single", {}, m.USER, new Run()),
    W2: () => loop("loop10", tools, m.USER, new Run()),
    W3: () => loop("par50", tools, m.USER, new Run()),
    W4: () => loop("parent20", ptools, m.USER, new Run()),
    W5: async () => {
      let s = "";
      for await (const d of streamRun(new Run())) {
        m.counters.deltas++;
        s += d.text;
      }
      return s;
    },
    W6: () =>
      loop(
        "trim",
        tools,
        m.USER,
        new Run(),
        m.trimSuffix(hist, size, (x) => x.role === "user"),
      ),
  };
}
