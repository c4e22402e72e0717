import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  isJsonObject,
  Json,
  type ChatMessage,
  type AgentSpec,
  type RunTool,
  type Tool,
  type ToolCallBlock,
  type ToolResult,
} from "#kernel";
import { textInput } from "../tools/text-input.ts";

const prefix = "handoff_to_";

/** The two agents of a handoff, by name. */
interface HandoffParties {
  readonly from: string;
  readonly to: string;
}

/**
 * Chooses the messages that the next agent sees: from those before and in this turn, without the calls of handoff
 * tools. Its result is recorded, so it is called once.
 */
export type HandoffFilter = (messages: readonly ChatMessage[]) => readonly ChatMessage[];

/** Options of a handoff. `Given`: the input that the model gives when it hands off. */
export interface HandoffOptions<Given = { readonly message: string }> {
  /** The description that the model reads. Default: the agent's. */
  readonly description?: string | undefined;
  /** The schema of the model's input, an object. Default: a text message. */
  readonly input?: StandardSchemaV1<unknown, Given> | undefined;
  /** Default: the next agent sees all messages. */
  readonly filter?: HandoffFilter | undefined;
  /** Called in a step before the next agent begins, for example to fetch data. After a crash it may be called again. */
  readonly onHandoff?: ((input: Given, parties: HandoffParties) => Promise<void> | void) | undefined;
}

/** A handoff target with its options. */
export interface Handoff extends Omit<HandoffOptions, "input" | "onHandoff"> {
  readonly agent: AgentSpec;
  readonly input?: StandardSchemaV1 | undefined;
  onHandoff?(input: unknown, parties: HandoffParties): Promise<void> | void;
}

/**
 * Defines a handoff, for `agent({ handoffs })`. A name instead of an agent refers to the agent of that name in the
 * program, so that two agents can hand off to each other.
 */
export function handoff<Given = { readonly message: string }>(
  to: AgentSpec | string,
  { onHandoff, ...terms }: HandoffOptions<Given> = {},
): Handoff {
  const agent = typeof to === "string" ? { id: AgentId.of(to) } : to;
  return Object.freeze({
    ...terms,
    agent,
    ...(onHandoff && {
      // The tool's schema has checked it.
      onHandoff: (input: unknown, parties: HandoffParties) =>
        onHandoff(Json.as<Given>(Json.of(input)), parties),
    }),
  });
}

/** An entry of `agent({ handoffs })`. */
export type HandoffEntry = AgentSpec | Handoff;

const message = textInput({
  message: { description: "Everything that the next agent needs to know", max: 20_000 },
});

const known = new WeakMap<Tool, Handoff>();

/** Returns one tool for each handoff target: `handoff_to_<name>`. */
export function handoffTools(entries: readonly HandoffEntry[]): readonly RunTool[] {
  return entries.map((entry) => {
    const terms: Handoff = "agent" in entry ? entry : { agent: entry };
    const { agent, description = agent.description } = terms;
    const name = AgentId.type(agent.id);
    const made: RunTool = {
      name: `${prefix}${name}`,
      description: `Hands the conversation over to ${name}${description === undefined ? "" : `: ${description}`}`,
      input: terms.input ?? agent.input ?? message,
      risk: "safe",
      run: async (_, input) => Json.of({ handoff: name, input }),
    };
    known.set(made, terms);
    return made;
  });
}

/** Returns the handoff of a tool. Undefined: none. */
export const handoffOf = (tool: Tool | undefined): Handoff | undefined => tool && known.get(tool);

/** Returns the validated input of a handoff, from the result of its tool. */
export function handoffInput({ value }: ToolResult): Json {
  return isJsonObject(value) ? (value["input"] ?? null) : null;
}

/** Returns the index of the first call that hands off. -1: none does. */
export const findHandoff = (calls: readonly ToolCallBlock[], tools: readonly Tool[]): number =>
  calls.findIndex((call) => handoffOf(tools.find(({ name }) => name === call.name)));

/**
 * Returns messages without the calls of handoff tools and their results, because the next agent does not have these
 * tools.
 */
export const withoutHandoffs: HandoffFilter = (messages) =>
  withoutCalls(messages, (name) => name.startsWith(prefix));

/** Returns messages without all tool calls and their results: the next agent sees only the text messages. */
export const withoutTools: HandoffFilter = (messages) => withoutCalls(messages, () => true);

function withoutCalls(
  messages: readonly ChatMessage[],
  isOut: (tool: string) => boolean,
): readonly ChatMessage[] {
  return messages
    .map((each) => {
      const content = each.content.filter(
        (block) => !((block.type === "tool-call" || block.type === "tool-result") && isOut(block.name)),
      );
      return content.length === each.content.length ? each : { ...each, content };
    })
    .filter(({ content }) => content.length > 0);
}
