// Shared, framework-neutral mock of "the model", "the tool" and the workload scripts.
// Every adapter wraps decide()/deltas in its framework's own model interface; nothing else differs.
export const counters = { modelCalls: 0, toolCalls: 0, delegateCalls: 0, lastPromptMessages: 0, deltas: 0 };
export function resetCounters() {
  for (const k of Object.keys(counters)) counters[k] = 0;
}

export const TEXT = "The quick brown fox jumps over the lazy dog. ".repeat(5).slice(0, 200); // 200 chars
export const TOOL_RESULT = "r".repeat(200);
export const SYSTEM = "You are a helpful agent. ".repeat(20); // 500 chars
export const USER = "Please do the task described here. ".repeat(6); // ~210 chars
export const USAGE = { input: 100, output: 20 };
export const N_DELTAS = 2000;
/** All different: frameworks with loop detection refuse repeated answers. */
export const DELTAS = Array.from({ length: N_DELTAS }, (_, index) => `${index} `);
const known = new Set(DELTAS);
export const isDelta = (text) => known.has(text);

const call = (i, name = "lookup") => ({ id: `call_${i}`, name, args: { q: `item-${i}`, n: i } });
export const cfg = { loop: 10, par: 50 }; // scale.mjs changes these
const SCRIPTS = {
  single: () => ({ text: TEXT, calls: [] }),
  loop10: (s) => (s < cfg.loop ? { text: "", calls: [call(s)] } : { text: TEXT, calls: [] }),
  par50: (s) =>
    s < 1
      ? { text: "", calls: Array.from({ length: cfg.par }, (_, i) => call(i)) }
      : { text: TEXT, calls: [] },
  parent20: (s) =>
    s < 1
      ? { text: "", calls: Array.from({ length: 20 }, (_, i) => call(i, "delegate")) }
      : { text: TEXT, calls: [] },
  child3: (s) => (s < 2 ? { text: "", calls: [call(s)] } : { text: TEXT, calls: [] }),
  trim: () => ({ text: TEXT, calls: [] }),
  stream: () => ({ text: "", calls: [] }),
};
// role = which script; step = number of assistant messages since the last user message; promptMessages = how many the model was sent
export function decide(role, step, promptMessages = 0) {
  counters.modelCalls++;
  counters.lastPromptMessages = promptMessages;
  return SCRIPTS[role](step);
}
let latencyMs = 0;
export const setLatency = (ms) => {
  latencyMs = ms;
};
export const latency = () => latencyMs; // adapters: if (latency()) await tick()
export const tick = () => new Promise((r) => setTimeout(r, latencyMs));

export async function lookup() {
  counters.toolCalls++;
  return TOOL_RESULT;
}

// W6: 200-message history = 50 x (user, assistant+toolcall, tool, assistant text), trimmed to a 4,000 "token" window (chars/4)
export const HISTORY_GROUPS = 50;
export const TRIM_TOKENS = 4000;
export const HIST = Array.from({ length: HISTORY_GROUPS }, (_, i) => ({
  user: `Question ${i}: ` + "lorem ipsum dolor sit amet ".repeat(20), // ~550 chars
  call: { id: `h${i}`, name: "lookup", args: { q: `old-${i}`, n: i } },
  result: "x".repeat(600),
  answer: `Answer ${i}: ` + "consectetur adipiscing elit ".repeat(15), // ~430 chars
}));
// generic suffix trimming: keep the newest messages within the budget, starting at a user message.
export function trimSuffix(messages, sizeOf, isUser, budget = TRIM_TOKENS) {
  let sum = 0,
    start = messages.length,
    cut = messages.length;
  for (let i = messages.length - 1; i >= 0; i--) {
    sum += sizeOf(messages[i]);
    if (sum > budget) break;
    start = i;
    if (isUser(messages[i])) cut = start;
  }
  return messages.slice(cut);
}
export const EXPECT = {
  W1: { modelCalls: 1, toolCalls: 0 },
  W2: { modelCalls: 11, toolCalls: 10 },
  W3: { modelCalls: 2, toolCalls: 50 },
  W4: { modelCalls: 62, toolCalls: 40 },
  W5: { deltas: N_DELTAS },
  W6: { modelCalls: 1 },
};
export const STEPS = { W1: 1, W2: 11, W3: 2, W4: 62, W5: N_DELTAS, W6: 1 }; // divisor for "per step" (W3 also reported per tool call, W5 per delta)
/** Whether a workload has really done its work this many times. */
export function isDone(workload, times, text) {
  const isText = typeof text === "string" && text.length >= 200;
  return (
    isText && Object.entries(EXPECT[workload]).every(([name, count]) => counters[name] === count * times)
  );
}
