import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  isJsonObject,
  type ExecutionBudget,
  type Hireable,
  type HistoryRetention,
  type Priority,
  type RunTool,
  type Tool,
} from "#kernel";

/** Somebody an agent may hire, and on which terms. */
export interface TeamMember {
  readonly agent: Hireable;
  /** Default: the agent's, else normal. */
  readonly priority?: Priority;
  /** How long to wait for its answer. Default 600. */
  readonly askTimeoutS?: number;
  /** Default: the agent's. */
  readonly budget?: ExecutionBudget;
  /** Default: the agent's, else run. */
  readonly retention?: HistoryRetention;
  /** With no slot free: tell the model so, or stand in line. Default wait. */
  readonly onFull?: "deny" | "wait";
}

const defaultTimeoutS = 600;

/** One tool for each member: `ask_<name>`. Several calls in one cycle hire several helpers at once. */
export function teamTools(team: readonly (Hireable | TeamMember)[]): readonly RunTool[] {
  const tools = team.map((entry) => askTool("agent" in entry ? entry : { agent: entry }));
  for (const made of tools) known.add(made);
  return tools;
}

/** Was this tool made for a member of a team? */
export const isTeamTool = (given: Tool): boolean => known.has(given);

const known = new WeakSet<Tool>();

function askTool({
  agent,
  askTimeoutS = defaultTimeoutS,
  onFull = "wait",
  ...terms
}: TeamMember): RunTool<Task> {
  const name = AgentId.type(agent.id);
  return {
    name: `ask_${name}`,
    description: agent.description ?? `Ask ${name} to do a task and get its answer`,
    input: task,
    risk: "safe",
    run: async (ctx, input) => {
      const outcome = await ctx.ask(agent, input.task, { ...terms, timeoutS: askTimeoutS, onFull });
      ctx.note("handoff.made", { to: agent.id, toRun: outcome.handle.runId });
      if (outcome.kind === "replied") return outcome.text;
      // Whoever answers by what it returns has answered.
      if (outcome.kind === "endedWithoutReply" && outcome.result.output !== null)
        return outcome.result.output;
      throw new Error(`${name} did not answer: ${outcome.kind}${why(outcome)}`);
    },
  };
}

function why(outcome: object): string {
  const error = "error" in outcome && isJsonObject(outcome.error) ? outcome.error["message"] : undefined;
  return typeof error === "string" ? ` (${error})` : "";
}

interface Task {
  readonly task: string;
}

const taskSchema = {
  type: "object",
  properties: { task: { type: "string", description: "What to do, with everything it needs to know" } },
  required: ["task"],
  additionalProperties: false,
};

/** What an `ask_` tool takes: one text. Written out, because the core has no schema library. */
const task: StandardSchemaV1<unknown, Task> & StandardJSONSchemaV1<unknown, Task> = {
  "~standard": {
    version: 1,
    vendor: "reeve",
    validate: (value) => {
      const text = isJsonObject(value) ? value["task"] : undefined;
      return typeof text === "string"
        ? { value: { task: text } }
        : { issues: [{ message: "task: a text is needed" }] };
    },
    jsonSchema: { input: () => taskSchema, output: () => taskSchema },
  },
};
