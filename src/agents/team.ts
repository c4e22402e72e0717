import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  checkDuration,
  isJsonObject,
  type ExecutionBudget,
  type Hireable,
  type HistoryRetention,
  type Json,
  type JsonObject,
  type Priority,
  type RunTool,
  type Tool,
  ToolResult,
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

/** Whether the model may make the answer of a member the answer of its turn, word for word. Default false. */
interface TeamToolOptions {
  readonly mayForward?: boolean;
}

/** One tool for each member: `ask_<name>`. Several calls in one cycle hire several helpers at once. */
export function teamTools(
  team: readonly (Hireable | TeamMember)[],
  { mayForward = false }: TeamToolOptions = {},
): readonly RunTool[] {
  const tools = team.map((entry) => askTool("agent" in entry ? entry : { agent: entry }, mayForward));
  for (const made of tools) known.add(made);
  return tools;
}

/** Was this tool made for a member of a team? */
export const isTeamTool = (given: Tool): boolean => known.has(given);

const known = new WeakSet<Tool>();

function askTool(
  { agent, askTimeoutS = defaultTimeoutS, onFull = "wait", ...terms }: TeamMember,
  mayForward: boolean,
): RunTool<Task> {
  const name = AgentId.type(agent.id);
  checkDuration("askTimeoutS", askTimeoutS);
  return {
    name: `ask_${name}`,
    description: agent.description ?? `Ask ${name} to do a task and get its answer`,
    input: mayForward ? taskToForward : task,
    risk: "safe",
    run: async (ctx, { task: text, forward = false }) => {
      const outcome = await ctx.ask(agent, text, { ...terms, timeoutS: askTimeoutS, onFull });
      const give = (answer: Json): unknown => (forward ? ToolResult.terminate(answer) : answer);
      if (outcome.kind === "replied") return give(isTyped(agent) ? outcome.data : outcome.text);
      // Whoever answers by what it returns has answered.
      if (outcome.kind === "endedWithoutReply" && outcome.result.output !== null)
        return give(outcome.result.output);
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
  /** Whether the answer is the answer of the turn. */
  readonly forward?: boolean | undefined;
}

const taskProperties = {
  task: { type: "string", description: "What to do, with everything it needs to know" },
};
const forwardProperties = {
  ...taskProperties,
  forward: {
    type: "boolean",
    description: "True: the answer is given to the user as it is, and you say nothing more. Default false",
  },
};

/** The input of an `ask_` tool. Written out, because the core has no schema library. */
const taskInput = (
  properties: JsonObject,
): StandardSchemaV1<unknown, Task> & StandardJSONSchemaV1<unknown, Task> => {
  const schema = { type: "object", properties, required: ["task"], additionalProperties: false };
  return {
    "~standard": {
      version: 1,
      vendor: "reeve",
      validate: (value) => {
        const { task: text, forward } = isJsonObject(value) ? value : {};
        if (typeof text !== "string") return { issues: [{ message: "task: a text is needed" }] };
        const isAsked = "forward" in properties && forward === true;
        return { value: { task: text, ...(isAsked && { forward: true }) } };
      },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
};

const task = taskInput(taskProperties);
const taskToForward = taskInput(forwardProperties);
