import { ToolResult } from "#kernel";

/** Nobody knows whether it happened. */
export const unknown = (tool: string): ToolResult =>
  ToolResult.failure(
    `the outcome of ${tool} is unknown: it may or may not have happened; do not assume either`,
  );

/** For the stream. */
export const statusOf = ({ isError }: ToolResult): "ok" | "error" => (isError ? "error" : "ok");

/** What an error says. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
