import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  checkDuration,
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
  checkDuration("askTimeoutS", askTimeoutS);
  return {
    name: `ask_${name}`,
    description: agent.description ?? `Ask ${name} to do a task and get its answer`,
    input: task,
    risk: "safe",
    run: async (ctx, input) => {
      const outcome = await ctx.ask(agent, input.task, { ...terms, timeoutS: askTimeoutS, onFull });
      if (outcome.kind === "replied") return isTyped(agent) ? outcome.data : outcome.text;
      // Whoever answers by what it returns has answered.
      if (outcome.kind === "endedWithoutReply" && outcome.result.output !== null)
        return outcome.result.output;
      throw new Error(`${name} did not answer: ${outcome.kind}${why(outcome)}`);
    },
  };
}

/** Whether an agent has an output schema: its reply is data, and the text only the encoding of it. */
const isTyped = (agent: Hireable): boolean => "output" in agent && agent.output !== undefined;

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
