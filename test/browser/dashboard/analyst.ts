import { createAnthropic } from "@ai-sdk/anthropic";
import { type Agent, agent, type ChatMiddleware, type RunHandle, type Tool, tool } from "reeve";
import { type ProviderAnswer, type ProviderRequest, fakeProvider, type FakeProvider } from "reeve/testing";
import { z } from "zod";
import type { DashboardSite } from "./dashboard-site.ts";

/** The texts of an analyst, its tools and its guardrail. */
export interface AnalystTexts {
  readonly task: string;
  readonly instructions: string;
  readonly changedInstructions: string;
  readonly toolDescription: string;
  readonly accounts: string;
  readonly page: string;
  readonly steering: string;
  readonly warning: string;
  readonly note: string;
  readonly answer: string;
  readonly url: string;
}

const rules = "You check the accounts of companies. Answer in two sentences. ".repeat(40);

/** A report of three model calls and two tools. */
export const analystTexts: AnalystTexts = {
  task: "Was the covenant of the 2023 facility met in each quarter?",
  instructions: `${rules}Quote amounts exactly.`,
  changedInstructions: `${rules}Quote amounts to the cent.`,
  toolDescription: "Reads a book of accounts",
  accounts:
    "2026-06-30  covenant  waived  rolling margin 21.4 %\n2026-09-30  covenant  met     rolling margin 24.1 %",
  page: "Lakeside Bank: waivers are published in the registry.",
  steering: "Also say who signed the waiver.\u200B One line is enough.",
  warning: "parts of this result come from a web page",
  note: "waited 0.2 s",
  answer:
    "## Covenant\n\nIt was **breached** at 30 June (21.4 % against 24 %) and waived.\n\n- fee: $40,000\n- see [the registry](https://registry.example/731)",
  url: "https://lakeside.example/waivers",
};

/** An agent on a provider double, and all that the provider was sent. */
export interface Analyst extends AsyncDisposable {
  readonly agent: Agent;
  readonly requests: readonly ProviderRequest[];
  /** Starts it, steers it while it reads the page, and waits for its end. */
  run(site: DashboardSite, id: string): Promise<RunHandle>;
}

/** Creates the analyst. The system prompt of its last call is another one. */
export async function openAnalyst(texts: AnalystTexts = analystTexts): Promise<Analyst> {
  const requests: ProviderRequest[] = [];
  const answers: readonly ProviderAnswer[] = [
    {
      reasoning: "The accounts come first.",
      text: "I look at the accounts.",
      toolCalls: [{ name: "read_accounts", input: { book: texts.task, from: "2026-04-01" } }],
    },
    { text: "Now the page.", toolCalls: [{ name: "read_page", input: { url: texts.url } }] },
    { text: texts.answer },
  ];
  const double: FakeProvider = await fakeProvider({
    promptCache: { minimumTokens: 50, blockTokens: 1 },
    script: (request) => {
      requests.push(request);
      return answers[requests.length - 1] ?? { text: texts.answer };
    },
  });
  const reading = Promise.withResolvers<void>();
  const steered = Promise.withResolvers<void>();
  const onRead = (): Promise<void> => {
    reading.resolve();
    return steered.promise;
  };
  const analyst = agent({
    name: "analyst",
    description: "Checks accounts",
    instructions: texts.instructions,
    model: createAnthropic({ baseURL: double.baseURL, apiKey: "none" })("claude-sonnet-4-5"),
    maxOutputTokens: 4_000,
    tools: createTools(texts, onRead),
    guardrails: [
      {
        name: "untrusted-content",
        afterCall: ({ tool: called }) =>
          called === "read_page" ? { kind: "warn", reason: texts.warning } : { kind: "allow" },
      },
    ],
    middleware: { chat: [changeRules(texts)] },
  });
  return {
    agent: analyst,
    requests,
    run: async (site, id) => {
      const options = { id, user: "dana", budget: { maxCostUsd: 1 } };
      const run = await site.runtime.start(analyst, texts.task, options);
      // A run that ends before it reads the page fails here instead of waiting for ever.
      const ended = run.result().then(({ status }) => Promise.reject(new Error(`it ended early: ${status}`)));
      await Promise.race([reading.promise, ended]);
      ended.catch(() => undefined);
      await run.steer(texts.steering);
      steered.resolve();
      await run.result();
      for await (const _ of run.events());
      return run;
    },
    [Symbol.asyncDispose]: () => double.close(),
  };
}

/** The last call has another system prompt, as after a change of the day. */
function changeRules({ changedInstructions, note }: AnalystTexts): ChatMiddleware {
  return {
    process: async (context, next) => {
      context.scope.note("rate-limit", note);
      const results = context.messages.filter(({ role }) => role === "tool");
      if (results.length === 2) context.systemInstructions = changedInstructions;
      await next();
    },
  };
}

/** A tool with private results, and one with untrusted results that waits. */
function createTools(texts: AnalystTexts, onRead: () => Promise<void>): readonly Tool[] {
  return [
    tool({
      name: "read_accounts",
      description: texts.toolDescription,
      input: z.object({ book: z.string(), from: z.string() }),
      risk: "safe",
      sensitivity: "private",
      execute: () => texts.accounts,
    }),
    tool({
      name: "read_page",
      description: texts.toolDescription,
      input: z.object({ url: z.string() }),
      risk: "safe",
      origin: "web",
      egress: false,
      execute: async () => {
        await onRead();
        return texts.page;
      },
    }),
  ];
}
