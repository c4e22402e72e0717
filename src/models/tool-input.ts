import type { MalformedReason, ToolCallBlock } from "#kernel";
import { strictJson } from "./strict-json.ts";

/** Characters kept of an unreadable input, to show the model what it wrote. */
const maxExcerptLength = 200;

/**
 * A call whose arguments must not be used, for example because the answer was truncated. It never reaches a tool: it is
 * answered with an error result, so that the transcript is complete and the model can try again.
 */
export interface MalformedToolCall extends ToolCallBlock {
  readonly input: null;
  /** The beginning of the text that the model wrote. */
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

/** Parses the arguments of a call from JSON text. Empty text means no arguments. */
export function readToolInput(given: unknown): ToolInput {
  if (given === undefined) return { input: {} };
  const text = typeof given === "string" ? given : toJsonText(given);
  if (text.length < maxExcerptLength && text.trim() === "") return { input: {} };
  const read = strictJson(text);
  if ("value" in read) return { input: read.value };
  const malformedInput = text.slice(0, maxExcerptLength).toWellFormed();
  return { input: null, malformedInput, malformedBecause: read.malformed };
}

/** Encodes a value that a provider sent instead of a text, so that both are checked in the same way. */
function toJsonText(given: unknown): string {
  try {
    return JSON.stringify(given) ?? "?";
  } catch {
    return "?";
  }
}
