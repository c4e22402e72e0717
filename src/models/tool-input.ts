import { Json, type ToolCallBlock } from "#kernel";

/** How much of an unreadable input is kept, to show the model what it wrote. */
const longestExcerpt = 200;

/**
 * A call whose arguments were not JSON, for example because the answer was cut. It must not reach a tool: it is
 * answered with an error result, so that the transcript stays whole and the model can try again.
 */
export interface MalformedToolCall extends ToolCallBlock {
  readonly input: null;
  /** The beginning of what the model wrote instead. */
  readonly malformedInput: string;
}

/** Whether a call must be answered with an error instead of being made. */
export function isMalformed(block: ToolCallBlock): block is MalformedToolCall {
  return "malformedInput" in block;
}

/** The arguments of a call, from the JSON string they come as. Nothing at all stands for no arguments. */
export function readToolInput(
  text: unknown,
): Pick<ToolCallBlock, "input"> | Pick<MalformedToolCall, "input" | "malformedInput"> {
  if (typeof text !== "string") return { input: text === undefined ? {} : Json.of(text) };
  if (text.trim() === "") return { input: {} };
  try {
    return { input: Json.as(parse(text)) };
  } catch {
    return { input: null, malformedInput: text.slice(0, longestExcerpt) };
  }
}

/** A key `__proto__` would change the prototype of whatever the arguments are merged into: it is left out. */
function parse(text: string): Json {
  const suspicious = text.includes("__proto__") || text.includes("\\u00");
  return Json.of(
    suspicious
      ? JSON.parse(text, (key, value: unknown) => (key === "__proto__" ? undefined : value))
      : JSON.parse(text),
  );
}
