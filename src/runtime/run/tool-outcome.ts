import { ContentBlock, type Json, type ToolResult } from "#kernel";

/** What a tool returned, as the model is shown it. */
export const success = (value: Json | undefined): ToolResult => ({
  content: [ContentBlock.text(typeof value === "string" ? value : JSON.stringify(value ?? null))],
  isError: false,
  value: value ?? null,
});

/** What went wrong, as the model is shown it. */
export const failure = (message: string): ToolResult => ({
  content: [ContentBlock.text(message)],
  isError: true,
});

/** Nobody knows whether it happened. */
export const unknown = (tool: string): ToolResult =>
  failure(`the outcome of ${tool} is unknown: it may or may not have happened; do not assume either`);

/** For the stream. */
export const statusOf = ({ isError }: ToolResult): "ok" | "error" => (isError ? "error" : "ok");

/** What an error says. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
