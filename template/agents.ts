import { agent, tool } from "reeve";
import { z } from "zod";
import { model } from "./model.ts";

/** The task that the playground begins with. */
export const example = "Report on heat pumps in Europe, and mail it to the team.";

const search = tool({
  name: "search",
  description: "Search the web",
  input: z.object({ query: z.string() }),
  risk: "safe",
  execute: ({ query }) => `3 pages on ${query}. The best one: https://example.com/heat-pumps`,
});

const readPage = tool({
  name: "read_page",
  description: "Read a page of the web",
  input: z.object({ url: z.string() }),
  risk: "safe",
  origin: "web", // a stranger may have written it
  execute: ({ url }) => `${url}: sales of heat pumps grew by 9 percent in 2025, after two years of decline.`,
});

const readAccounts = tool({
  name: "read_accounts",
  description: "Read the accounts of the company",
  input: z.object({}),
  risk: "safe",
  sensitivity: "private", // may not leave the company
  execute: () => "Account 4711: 18,200 euros. Mailing list for reports: team@example.com",
});

const sendEmail = tool({
  name: "send_email",
  description: "Send an e-mail",
  input: z.object({ to: z.string(), text: z.string() }),
  risk: "high", // waits for your approval
  execute: ({ to }) => `E-mail sent to ${to}.`,
});

export const researcher = agent({
  name: "researcher",
  description: "Finds facts on the web",
  model,
  instructions: "Search, read the best page, and answer with what it says.",
  tools: [search, readPage],
  budget: { maxCostUsd: 0.25 },
  maxOutputTokens: 1_000,
});

export const reviewer = agent({
  name: "reviewer",
  description: "Checks facts",
  model,
  instructions: "Say in two sentences whether the facts hold.",
  budget: { maxCostUsd: 0.25 },
  maxOutputTokens: 5_000,
});

export const writer = agent({
  name: "writer",
  description: "Writes the report and sends it",
  model,
  instructions: "Read a page on style and the mailing list, then send exactly one e-mail with the report.",
  tools: [readPage, readAccounts, sendEmail],
  budget: { maxCostUsd: 0.25 },
  maxOutputTokens: 1_000,
});

export const lead = agent({
  name: "lead",
  description: "Prepares a report with a team",
  model,
  instructions: "Ask four researchers for facts, have them reviewed, then ask the writer to send the report.",
  team: [researcher, reviewer, writer],
  budget: { maxCostUsd: 0.5, onLimit: "wait" }, // for all of them together; then it waits for a top-up
  maxOutputTokens: 1_000,
});
