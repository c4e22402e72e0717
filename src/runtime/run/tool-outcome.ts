import { type Json, ToolResult } from "#kernel";

/** Bytes that a tool may return. A model is shown far less; the journal keeps all of it. */
const mostBytes = 4_000_000;

/** What a tool returned, if it is JSON of a size that can be kept. */
export function resultOf(tool: string, value: Json | undefined): ToolResult {
  const result = ToolResult.of(value);
  const [text] = result.content;
  const bytes = text?.type === "text" ? Buffer.byteLength(text.text) : 0;
  return bytes <= mostBytes
    ? result
    : ToolResult.failure(`${tool} returned ${bytes} bytes, and ${mostBytes} are the most: ask for less`);
}

/** Nobody knows whether it happened. */
export const unknown = (tool: string): ToolResult =>
  ToolResult.failure(
    `the outcome of ${tool} is unknown: it may or may not have happened; do not assume either`,
  );

/** For the stream. */
export const statusOf = ({ isError }: ToolResult): "ok" | "error" => (isError ? "error" : "ok");

/** What an error says. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
