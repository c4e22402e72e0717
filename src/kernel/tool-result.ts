import type { Json } from "./json.ts";
import { ContentBlock } from "./message.ts";

/** What a tool call came to. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  /** The value the tool returned, for code; absent on an error. */
  readonly value?: Json | undefined;
}

/** Constructors of {@link ToolResult}. */
export const ToolResult = {
  /** What a tool returned, as the model is shown it. */
  of: (value: Json | undefined): ToolResult => ({
    content: [ContentBlock.text(typeof value === "string" ? value : JSON.stringify(value ?? null))],
    isError: false,
    value: value ?? null,
  }),
  /** What went wrong, as the model is shown it. */
  failure: (message: string): ToolResult => ({ content: [ContentBlock.text(message)], isError: true }),
} as const;
