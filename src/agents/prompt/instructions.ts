import { ChatMessage, type RunContext, type RunScope } from "#kernel";
import { OutputForm } from "../turn/structured-output.ts";
import type { TurnState } from "../turn/turn-state.ts";
import { assembleSystemPrompt, joinParagraphs } from "./system-prompt.ts";

/** The input of instructions that are a function. */
export interface InstructionsInput {
  /** Tenant, user, session, channel and metadata of the request. */
  readonly scope: RunScope;
  /** The text that the turn begins with. */
  readonly input: string;
}

/** Computes the system message of a turn. It is called inside a step, so it may do I/O. */
export type Instructions = (turn: InstructionsInput) => Promise<string> | string;

/** The parts of an agent that its system message is built from. */
interface PromptDefinition {
  readonly options: { readonly instructions?: string | Instructions | undefined };
  readonly output: OutputForm | undefined;
  readonly hasSections: boolean;
  /** Whether an extension may replace the system prompt. If so, it is computed in the first call of each turn. */
  readonly hasPromptHandler: boolean;
}

/** Returns the constant system message. Empty if the first call of each turn computes it. */
export function systemPrompt(definition: PromptDefinition): ChatMessage[] {
  const { instructions = "" } = definition.options;
  if (typeof instructions === "function" || definition.hasSections || definition.hasPromptHandler) return [];
  const text = joinParagraphs([instructions, formText(definition)]);
  return text === "" ? [] : [ChatMessage.system(text)];
}

/** Returns the function that computes the system message of a turn. Undefined: it is constant. */
export function computePrompt(
  definition: PromptDefinition,
  { meta: { scope } }: RunContext,
): TurnState["instructions"] {
  const { instructions } = definition.options;
  const compute = (input: string): Promise<string> | string => {
    if (typeof instructions !== "function") return instructions ?? "";
    if (!scope) throw new TypeError("instructions as a function need a run");
    return instructions({ scope, input });
  };
  if (definition.hasSections) {
    const isGiven = instructions !== undefined;
    return async (input, call) => {
      const start = { instructions: isGiven ? () => compute(input) : undefined, form: formText(definition) };
      return assembleSystemPrompt(start, await call.readSections());
    };
  }
  if (typeof instructions !== "function" && !definition.hasPromptHandler) return undefined;
  return async (input) => joinParagraphs([await compute(input), formText(definition)]);
}

/** Returns the instruction about the form of the answer. Empty for a model that takes the schema natively. */
function formText({ output }: PromptDefinition): string {
  return output && !output.native ? OutputForm.instruction(output) : "";
}
