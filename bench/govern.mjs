// A parent with a token limit spawns children, with each framework's own idioms for both. They would spend far more
// than the limit, in sequence or in parallel. How much does the provider bill without `govern`, and with it?
// `bench/install.sh ai mastra langchain openai` installs the frameworks; then `node --conditions=reeve-source
// bench/govern.mjs`, or with names for some of them.
import { createOpenAI } from "@ai-sdk/openai";
import { govern } from "reeve/govern";
import { fakeProvider } from "reeve/testing";

const limit = 3_000;
const tokensPerCall = 1_000;
const cases = [
  { name: "one child, twelve calls", children: 1, calls: 12 },
  { name: "eight children at once", children: 8, calls: 2 },
];

/** The parent asks its children once; each takes notes before it answers. */
const script =
  ({ children, calls }) =>
  ({ model, messages, tools }) => {
    const turn = messages.filter(({ role }) => role === "assistant").length;
    if (model === "lead") {
      const [writer] = tools;
      if (turn > 0 || !writer) return { text: "answer", outputTokens: 20 };
      const toolCall = { name: writer.name, input: { prompt: "go", input: "go" } };
      return { toolCalls: Array.from({ length: children }, () => toolCall), outputTokens: 20 };
    }
    const note = turn < calls - 1 && tools.find(({ name }) => name === "note");
    if (!note) return { text: "done", outputTokens: tokensPerCall };
    return { toolCalls: [{ name: "note", input: {} }], outputTokens: tokensPerCall };
  };

/** Returns the provider's bill for one run of a framework, and how the run ended. */
async function billOf(overspend, one, governed) {
  await using double = await fakeProvider({ script: script(one) });
  const { baseURL } = double;
  const openai = createOpenAI({ baseURL, apiKey: "none" });
  const model = (id) => (governed ? govern(openai.chat(id)) : openai.chat(id));
  const fetch = governed ? govern.fetch() : globalThis.fetch;
  const run = () => overspend({ limit, baseURL, model, fetch });
  const within = () => (governed ? govern.run({ budget: { maxTokens: limit } }, run) : run());
  const ending = await within().then(
    () => "answered",
    ({ name, message }) => `${name}: ${message}`.slice(0, 80),
  );
  const { inputTokens, outputTokens } = double.bill.total();
  return { spent: inputTokens + outputTokens, ending };
}

const chosen = process.argv.slice(2);
for (const peer of chosen.length > 0 ? chosen : ["ai", "mastra", "langchain", "openai"]) {
  const { overspend } = await import(`./peers/${peer}/govern.mjs`);
  for (const one of cases) {
    console.log(`${peer}, ${one.name}`);
    for (const governed of [false, true]) {
      const { spent, ending } = await billOf(overspend, one, governed);
      const share = `${((spent / limit) * 100).toFixed(0)} %`;
      console.log(
        governed ? "  with   " : "  without",
        `${spent} of ${limit} tokens`,
        share.padStart(6),
        ending,
      );
      if (governed && spent > limit) process.exitCode = 1;
    }
  }
}
