import { ContentBlock, findJsonProblem, ToolResult, type Json, type ShownValue, type Tool } from "#kernel";
import { failedLayer } from "#agents";
import { copyJson, safeMessage } from "#base";
import type { GuardedOutcome } from "./guardrail-step.ts";
import type { RunServices } from "./run-services.ts";

/** Maximum bytes of a tool's result. A model is shown far less; the journal keeps all of it. */
const maxResultBytes = 4_000_000;

/** Returns the error result for the model, with the message alone, and the diagnostic for the tool's author. */
export function toFailure({ engine }: RunServices, { name }: Tool, error: unknown): GuardedOutcome {
  const diagnostic = engine.report(failedLayer(error) ?? `tool ${name}`, error);
  return { result: ToolResult.failure(safeMessage(error)), diagnostic };
}

/** Returns what the model is told of a call that may or may not have happened. */
export const toUnknownText = ({ name }: Tool, reason: string | null): string =>
  `the outcome of ${name} is unknown: it may or may not have happened; do not assume either${reason === null ? "" : ` (${safeMessage(reason)})`}`;

/** Converts a tool's value to a result. Returns an error result if JSON cannot hold it, or if it is too large. */
export function toResult(tool: string, value: unknown): ToolResult {
  if (ToolResult.isTerminating(value)) {
    const result = toResult(tool, value.value);
    return result.isError ? result : { ...result, terminate: true };
  }
  if (ToolResult.isShown(value)) return toShownResult(tool, value);
  const problem = findJsonProblem(value);
  if (problem !== null)
    return ToolResult.failure(`${tool} returned a value that cannot be encoded as JSON: it${problem}`);
  const result = ToolResult.of(copyJson(value));
  const [text] = result.content;
  const bytes = text?.type === "text" ? Buffer.byteLength(text.text) : 0;
  return bytes <= maxResultBytes ? result : toTooLargeResult(tool, bytes);
}

/**
 * Converts a tool's shown content to a result. Returns an error result if JSON cannot hold it, or if it is too large.
 */
function toShownResult(tool: string, { content, isError, value }: ShownValue): ToolResult {
  const problem = findJsonProblem(content) ?? findJsonProblem(value);
  if (problem !== null)
    return ToolResult.failure(`${tool} returned content that cannot be encoded as JSON: it${problem}`);
  const shown = copyJson(content);
  const kept = copyJson(value);
  const bytes = Buffer.byteLength(JSON.stringify([shown, kept]));
  if (bytes > maxResultBytes) return toTooLargeResult(tool, bytes);
  const blocks = Array.isArray(shown) ? shown.map((block: Json) => ContentBlock.decode(block)) : [];
  return { content: blocks, isError, ...(!isError && { value: kept ?? null }) };
}

const toTooLargeResult = (tool: string, bytes: number): ToolResult =>
  ToolResult.failure(
    `${tool} returned ${bytes} bytes, and at most ${maxResultBytes} are allowed: ask for less`,
  );

/** Returns the status of a call in its events. */
export const toStatus = ({ isError }: ToolResult): "ok" | "error" => (isError ? "error" : "ok");
