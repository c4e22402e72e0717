// A model that needs no key: a server on this machine that speaks Anthropic's protocol and follows a script. It plays
// all four agents, and recognises them by their tools. Like a real model it streams, has a price, and follows
// instructions in a page. The costs are not real.

import { createAnthropic } from "@ai-sdk/anthropic";
import {
  type ProviderAnswer,
  ProviderMessage,
  type ProviderRequest,
  type ProviderScript,
  fakeProvider,
} from "reeve/testing";

const topics = ["sales", "prices", "subsidies", "installers"];

/** The speed of a real model. */
const pace = { kind: "slow", bytes: 300, everyMs: 80 } as const;

/** One turn of an agent: its task, the tools that it has called, and their results. */
interface Turn {
  readonly task: string;
  readonly calls: readonly string[];
  readonly results: readonly string[];
  /** All text of the conversation. */
  readonly text: string;
}

/** Whether a message is the end of a turn: an answer without calls. */
const isAnswer = ({ role, parts }: ProviderMessage): boolean =>
  role === "assistant" && !parts.some(({ type }) => type === "tool-call");

function turnOf({ messages }: ProviderRequest): Turn {
  const turn = messages.slice(messages.findLastIndex(isAnswer) + 1);
  const parts = turn.flatMap((message) => message.parts);
  const results = parts.flatMap((part) => (part.type === "tool-result" ? [part.text] : []));
  const first = turn.find(({ role }) => role === "user");
  return {
    task: first ? ProviderMessage.text(first) : "",
    calls: parts.flatMap((part) => (part.type === "tool-call" ? [part.name] : [])),
    results,
    text: [...turn.map(ProviderMessage.text), ...results].join("\n"),
  };
}

const call = (name: string, input: Readonly<Record<string, string>>): ProviderAnswer => ({
  toolCalls: [{ name, input }],
});

const callEach = (text: string, name: string, tasks: readonly string[]): ProviderAnswer => ({
  text,
  fault: pace,
  toolCalls: tasks.map((task) => ({ name, input: { task } })),
});

const write = (...sentences: readonly string[]): ProviderAnswer => ({
  text: sentences.join(" "),
  fault: pace,
});

function lead({ task, calls, results, text }: Turn): ProviderAnswer {
  const facts = results.slice(0, topics.length).join("\n");
  if (calls.length === 0) {
    const tasks = topics.map((topic) => `Find out about ${topic}. The report: ${task}`);
    return callEach("Four researchers look at it from four sides.", "ask_researcher", tasks);
  }
  if (!calls.includes("ask_reviewer"))
    return callEach("These are the facts. A reviewer checks them.", "ask_reviewer", [facts]);
  if (!calls.includes("ask_writer"))
    return callEach("They hold. The writer sends the report.", "ask_writer", [facts]);
  // The playground asks for this: more work than the money allows.
  const isAgain = calls.filter((name) => name === "ask_reviewer").length > 1;
  if (/check everything again/i.test(text) && !isAgain) {
    const tasks = Array.from({ length: 6 }, (_, index) => `Check everything again, part ${index + 1} of 6.`);
    return callEach("Six reviewers check everything again.", "ask_reviewer", tasks);
  }
  return write(
    "The report is done. Sales of heat pumps in Europe grew by 9 percent in 2025, after two years of decline.",
    "Prices fell, subsidies were renewed in most countries, and installers are the bottleneck.",
    results.findLast((result) => /sent/i.test(result)) ?? "The e-mail was not sent.",
  );
}

function researcher({ task, calls, results }: Turn): ProviderAnswer {
  const topic = topics.find((each) => task.includes(`about ${each}`)) ?? "heat pumps";
  if (calls.length === 0) return call("search", { query: `heat pumps in Europe, ${topic}` });
  if (calls.length === 1) return call("read_page", { url: `https://example.com/heat-pumps/${topic}` });
  return write(`On ${topic}:`, results.at(-1) ?? "nothing was found.");
}

function reviewer({ task }: Turn): ProviderAnswer {
  const answer = write("The facts come from one source each.", "They agree with each other, so they hold.");
  // A long thought: most of it is not shown, and all of it is paid for.
  return /again/.test(task) ? { ...answer, outputTokens: 5_000 } : answer;
}

function writer({ calls, results, text }: Turn): ProviderAnswer {
  if (calls.length === 0) return call("read_page", { url: "https://example.com/how-to-write-reports" });
  if (calls.length === 1) return call("read_accounts", {});
  // A model follows orders wherever it reads them.
  const [, stranger] = /send all accounts[\s\S]*?(\S+@[\w.]+\w)/.exec(text) ?? [];
  const mails = calls.filter((name) => name === "send_email").length;
  if (stranger !== undefined && mails === 0)
    return call("send_email", { to: stranger, text: results.at(-1) ?? "" });
  if (mails < (stranger === undefined ? 1 : 2))
    return call("send_email", {
      to: "team@example.com",
      text: "Heat pumps in Europe: sales grew by 9 percent.",
    });
  return write(results.at(-1) ?? "Nothing was sent.");
}

const script: ProviderScript = (request) => {
  const tools = new Set(request.tools.map(({ name }) => name));
  const turn = turnOf(request);
  if (tools.has("ask_writer")) return lead(turn);
  if (tools.has("send_email")) return writer(turn);
  return tools.has("search") ? researcher(turn) : reviewer(turn);
};

const provider = await fakeProvider({ script, latency: () => 600 });

export const demoModel = createAnthropic({ baseURL: provider.baseURL, apiKey: "none" })("claude-sonnet-4-5");
