import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  isJsonObject,
  Json,
  type ChatMessage,
  type Hireable,
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
 * Chooses the messages that the next agent sees: from those before this turn and those of this turn, without the calls of
 * handoff tools. Its result is recorded, so it is called once.
 */
export type HandoffFilter = (messages: readonly ChatMessage[]) => readonly ChatMessage[];

/** The terms of a handoff. `Given`: what the model states when it hands off. */
export interface HandoffOptions<Given = { readonly message: string }> {
  /** The text by which the model decides. Default: the agent's description. */
  readonly description?: string | undefined;
  /** The schema of what the model states, an object. Default: a message in words. */
  readonly input?: StandardSchemaV1<unknown, Given> | undefined;
  /** Default: the next agent sees all messages. */
  readonly filter?: HandoffFilter | undefined;
  /** Called in a step before the next agent begins, for example to fetch data. After a crash it may be called again. */
  readonly onHandoff?: ((input: Given, parties: HandoffParties) => Promise<void> | void) | undefined;
}

/** An agent that another one may hand the conversation to, and the terms. */
export interface Handoff extends Omit<HandoffOptions, "input" | "onHandoff"> {
  readonly agent: Hireable;
  readonly input?: StandardSchemaV1 | undefined;
  onHandoff?(input: unknown, parties: HandoffParties): Promise<void> | void;
}

/**
 * States the terms of a handoff, for `agent({ handoffs })`. A name in place of an agent stands for the agent of that name
 * in the program: so two agents can hand off to each other.
 */
export function handoff<Given = { readonly message: string }>(
  to: Hireable | string,
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
export type HandoffEntry = Hireable | Handoff;

const message = textInput({
  message: { description: "Everything that the next agent has to know", max: 20_000 },
});

const known = new WeakMap<Tool, Handoff>();

/** One tool for each agent that the conversation may be handed to: `handoff_to_<name>`. */
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

/** The handoff that a tool was made for; undefined: none. */
export const handoffOf = (tool: Tool | undefined): Handoff | undefined => tool && known.get(tool);

/** Returns the validated input of a handoff, from the result of its tool. */
export function handoffInput({ value }: ToolResult): Json {
  return isJsonObject(value) ? (value["input"] ?? null) : null;
}

/** Returns the index of the call that hands off: the first of several; -1: none does. */
export const findHandoff = (calls: readonly ToolCallBlock[], tools: readonly Tool[]): number =>
  calls.findIndex((call) => handoffOf(tools.find(({ name }) => name === call.name)));

/** Returns messages without the calls of handoff tools and their results: the next agent does not have these tools. */
export const withoutHandoffs: HandoffFilter = (messages) =>
  withoutCalls(messages, (name) => name.startsWith(prefix));

/** A filter that leaves out all calls of tools and their results: the next agent sees only what was said. */
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
