import type { Json } from "./json.ts";
import type { ContentBlock } from "./message.ts";

/** What a tool call came to. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  /** The value the tool returned, for code; absent on an error. */
  readonly value?: Json | undefined;
}
