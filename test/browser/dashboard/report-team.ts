import { type Agent, agent, tool } from "reeve";
import { call, type ManualModel, manualModel, say, scriptedModel } from "reeve/testing";
import { askHuman } from "reeve/tools";
import { z } from "zod";

const price = { input: 100_000_000, output: 400_000_000 };

/** A team that prepares a report: the writer needs approval for its email, the reviewer's call remains in flight. */
export interface ReportTeam {
  readonly agents: readonly Agent[];
  readonly lead: Agent;
  readonly reviewing: ManualModel;
  readonly sent: readonly string[];
}

/** Creates the team. `body` is the text of the mail. */
export function reportTeam(body = "The report is attached."): ReportTeam {
  const sent: string[] = [];
  const sendEmail = tool({
    name: "send_email",
    description: "Sends an email",
    input: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
    risk: "high",
    execute: ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
  });
  const mail = { to: "team@example.com", subject: "Report", body };
  const researcher = agent({
    name: "researcher",
    description: "Finds facts",
    model: scriptedModel([say("Revenue grew by 4 %.")], { price }),
    budget: { maxCostUsd: 0.2 },
  });
  const writer = agent({
    name: "writer",
    description: "Writes and sends the report",
    model: scriptedModel([call("send_email", mail), say("The report is sent.")], { price }),
    tools: [sendEmail],
    budget: { maxCostUsd: 0.2 },
  });
  const reviewing = manualModel({ id: "careful-model", price });
  const reviewer = agent({
    name: "reviewer",
    description: "Reviews the report",
    model: reviewing,
    budget: { maxCostUsd: 0.2 },
    maxOutputTokens: 100,
  });
  const tasks = Array.from(
    { length: 6 },
    (_, index) => ["ask_researcher", { task: `Topic ${index + 2}` }] as const,
  );
  const lead = agent({
    name: "lead",
    description: "Leads a team",
    model: scriptedModel(
      [
        call(
          "ask_researcher",
          { task: "Topic 1" },
          ...tasks,
          ["ask_writer", { task: "Write" }],
          ["ask_reviewer", { task: "Review" }],
        ),
        say("The report is done."),
      ],
      { price },
    ),
    team: [researcher, writer, reviewer],
  });
  return { agents: [lead, researcher, writer, reviewer], lead, reviewing, sent };
}

/** An agent that asks the user one question. */
export function askingAgent(): Agent {
  const question = { question: "When is the report sent?", choices: ["Monday", "Friday"] };
  return agent({
    name: "planner",
    description: "Plans the report",
    model: scriptedModel([call("ask_human", question), say("Planned.")], { price }),
    tools: [askHuman()],
  });
}
