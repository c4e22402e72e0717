import type { MalformedReason, ToolCallBlock } from "#kernel";
import { strictJson } from "./strict-json.ts";

/** How much of an unreadable input is kept, to show the model what it wrote. */
const longestExcerpt = 200;

/**
 * A call whose arguments are not to be acted on, for example because the answer was cut. It must not reach a tool: it is
 * answered with an error result, so that the transcript stays whole and the model can try again.
 */
export interface MalformedToolCall extends ToolCallBlock {
  readonly input: null;
  /** The beginning of what the model wrote instead. */
  readonly malformedInput: string;
  readonly malformedBecause: MalformedReason;
}

/** Whether a call must be answered with an error instead of being made. */
export function isMalformed(block: ToolCallBlock): block is MalformedToolCall {
  return "malformedInput" in block;
}

type ToolInput =
  | Pick<ToolCallBlock, "input">
  | Pick<MalformedToolCall, "input" | "malformedInput" | "malformedBecause">;

/** The arguments of a call, from the JSON string they come as. Nothing at all stands for no arguments. */
export function readToolInput(given: unknown): ToolInput {
  if (given === undefined) return { input: {} };
  const text = typeof given === "string" ? given : textOf(given);
  if (text.length < longestExcerpt && text.trim() === "") return { input: {} };
  const read = strictJson(text);
  if ("value" in read) return { input: read.value };
  const malformedInput = text.slice(0, longestExcerpt).toWellFormed();
  return { input: null, malformedInput, malformedBecause: read.malformed };
}

/** Some providers send a value. It goes through the same door as a text. */
function textOf(given: unknown): string {
  try {
    return JSON.stringify(given) ?? "?";
  } catch {
    return "?";
  }
}
