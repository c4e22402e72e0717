import { agent, tool } from "reeve";
import { z } from "zod";
import { model } from "./model.ts";

const search = tool({
  name: "search",
  description: "Search the web",
  input: z.object({ query: z.string() }),
  risk: "safe",
  execute: async ({ query }) => `Two sources on "${query}": sales grew by 9 percent in 2025.`,
});

const sendEmail = tool({
  name: "send_email",
  description: "Send an e-mail",
  input: z.object({ to: z.string(), text: z.string() }),
  risk: "high", // waits until you run: npx reeve approve <id>
  execute: async ({ to }) => `E-mail sent to ${to}.`,
});

export const researcher = agent({
  name: "researcher",
  description: "Finds facts on the web",
  model,
  instructions: "Answer from search results only.",
  tools: [search],
  budget: { maxCostUsd: 0.25 },
});

export const writer = agent({
  name: "writer",
  description: "Writes the report and sends it",
  model,
  instructions: "Send exactly one e-mail with the report, then confirm it.",
  tools: [sendEmail],
  budget: { maxCostUsd: 0.25 },
});

export const lead = agent({
  name: "lead",
  description: "Prepares a report with a researcher and a writer",
  model,
  instructions: "Ask the researcher for the facts, then ask the writer to send the report.",
  team: [researcher, writer],
});
