import { type Agent, agent, type Model, retry, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const price = { input: 100_000_000, output: 400_000_000 };

/** A model with one script for four consecutive runs. */
const script = (turns: Parameters<typeof scriptedModel>[0]): Model =>
  scriptedModel([turns[0], ...turns.slice(1), ...turns, ...turns, ...turns], { price });

/**
 * A lead whose writer reads an untrusted page and private figures, and then sends an email: the rule of two requires
 * approval.
 */
export function mailingTeam(body: string): { readonly agents: readonly Agent[]; readonly lead: Agent } {
  const readPage = tool({
    name: "read_page",
    description: "Reads a page of the web",
    input: z.object({ url: z.string() }),
    risk: "safe",
    origin: "web",
    execute: () => "Revenue grew.",
  });
  const readFigures = tool({
    name: "read_figures",
    description: "Reads the figures of the company",
    input: z.object({}),
    risk: "safe",
    sensitivity: "private",
    execute: () => "4 %",
  });
  const sendEmail = tool({
    name: "send_email",
    description: "Sends an email",
    input: z.object({ to: z.string(), body: z.string() }),
    risk: "high",
    execute: ({ to }) => `sent to ${to}`,
  });
  const writer = agent({
    name: "writer",
    description: "Writes and sends the report",
    instructions: "Write one page. Send it to the team.",
    model: script([
      call("read_page", { url: "https://example.com/news" }, ["read_figures", {}]),
      call("send_email", { to: "team@example.com", body }),
      say("The report is sent."),
    ]),
    tools: [readPage, readFigures, sendEmail],
    middleware: { chat: [retry()] },
    budget: { maxCostUsd: 0.5, maxTurns: 12 },
  });
  const lead = agent({
    name: "lead",
    description: "Leads a team",
    model: script([call("ask_writer", { task: "Write" }), say("The report is done.")]),
    team: [writer],
  });
  return { agents: [lead, writer], lead };
}
