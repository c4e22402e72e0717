import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  checkDuration,
  isJsonObject,
  type ExecutionBudget,
  type AgentSpec,
  type HistoryRetention,
  type Input,
  type Json,
  type Priority,
  type RunTool,
  type Tool,
  ToolResult,
} from "#kernel";
import { inputSchemaOf, parseTask } from "./task-input.ts";
import { createObjectSchema, toStandardSchema, type JsonStandardSchema } from "./tools/object-schema.ts";

/** An agent that may be spawned, with its spawn options. */
export interface TeamMember {
  readonly agent: AgentSpec;
  /** Default: the agent's, else normal. */
  readonly priority?: Priority;
  /** Maximum time for its answer, in seconds. Time in which nothing can work on it does not count. Default: 600. */
  readonly askTimeoutS?: number;
  /** Default: the agent's. */
  readonly budget?: ExecutionBudget;
  /** Default: the agent's, else run. */
  readonly retention?: HistoryRetention;
  /** With no slot free: give the model an error, or wait in the queue. Default: wait. */
  readonly onFull?: "deny" | "wait";
}

const defaultTimeoutS = 600;

/** Whether the model may return a member's answer unchanged as the answer of its turn. Default: false. */
interface TeamToolOptions {
  readonly mayForward?: boolean;
}

/** Returns one tool for each member: `ask_<name>`. Several calls in one cycle spawn several children concurrently. */
export function teamTools(
  team: readonly (AgentSpec | TeamMember)[],
  { mayForward = false }: TeamToolOptions = {},
): readonly RunTool[] {
  const tools = team.map((entry) => askTool("agent" in entry ? entry : { agent: entry }, mayForward));
  for (const made of tools) known.add(made);
  return tools;
}

/** Whether a tool was created for a member of a team. */
export const isTeamTool = (given: Tool): boolean => known.has(given);

const known = new WeakSet<Tool>();

function askTool(
  { agent, askTimeoutS = defaultTimeoutS, onFull = "wait", ...terms }: TeamMember,
  mayForward: boolean,
): RunTool<MemberTask> {
  const name = AgentId.type(agent.id);
  checkDuration("askTimeoutS", askTimeoutS);
  return {
    name: `ask_${name}`,
    description: agent.description ?? `Ask ${name} to do a task and get its answer`,
    input: agent.input ? typedTask(name, agent.input, mayForward) : mayForward ? taskToForward : task,
    risk: "safe",
    run: async (ctx, { task: text = "", data, forward = false }) => {
      const input: Input = data === undefined ? text : { data };
      const outcome = await ctx.ask(agent, input, { ...terms, timeoutS: askTimeoutS, onFull });
      const give = (answer: Json): unknown => (forward ? ToolResult.terminate(answer) : answer);
      if (outcome.kind === "replied") return give(isTyped(agent) ? outcome.data : outcome.text);
      // An agent that returns a value without a reply has answered with it.
      if (outcome.kind === "endedWithoutReply" && outcome.result.output !== null)
        return give(outcome.result.output);
      throw new Error(`${name} did not answer: ${outcome.kind}${why(outcome)}`);
    },
  };
}

/** Whether an agent has an output schema. If so, its reply is data, and the text only its encoding. */
const isTyped = (agent: AgentSpec): boolean => "output" in agent && agent.output !== undefined;

function why(outcome: object): string {
  const error = "error" in outcome && isJsonObject(outcome.error) ? outcome.error["message"] : undefined;
  return typeof error === "string" ? ` (${error})` : "";
}

/** A task as recorded in the journal: a text, or the data of an agent with an input schema. */
interface MemberTask {
  readonly task?: string | undefined;
  readonly data?: Json | undefined;
  /** Whether the answer becomes the answer of the turn. */
  readonly forward?: boolean | undefined;
}

const taskProperty = { type: "string", description: "The task, with everything the agent needs to know" };
const forwardProperty = {
  type: "boolean",
  description: "If true, the user gets the answer unchanged and you say nothing more. Default: false",
};

/** The input schema of an `ask_` tool of an agent that takes a text. */
const task = createObjectSchema<MemberTask>({ task: taskProperty }, ({ task: text }) =>
  typeof text === "string" ? { task: text } : noText,
);
const taskToForward = createObjectSchema<MemberTask>(
  { task: taskProperty, forward: forwardProperty },
  ({ task: text, forward }) =>
    typeof text === "string" ? { task: text, ...(forward === true && { forward }) } : noText,
  ["task"],
);
const noText = "task must be a string";

/** Returns the input schema of an `ask_` tool of an agent with its own schema. It is checked before a run starts. */
function typedTask(
  agent: string,
  schema: StandardSchemaV1,
  mayForward: boolean,
): JsonStandardSchema<MemberTask> {
  const inner = inputSchemaOf(agent, schema);
  const properties = isJsonObject(inner["properties"]) ? inner["properties"] : {};
  if (mayForward && "forward" in properties)
    throw new TypeError(`the input schema of agent ${agent} must not have a field named forward`);
  const shown = mayForward ? { ...inner, properties: { ...properties, forward: forwardProperty } } : inner;
  return toStandardSchema(shown, async (given) => {
    const { forward, ...rest } = mayForward && isJsonObject(given) ? given : { forward: false };
    const parsed = await parseTask(schema, mayForward ? rest : given);
    if ("issues" in parsed) return { issues: [{ message: parsed.issues }] };
    return { value: { data: parsed.data, ...(forward === true && { forward }) } };
  });
}
