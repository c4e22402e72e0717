import type { AgentId, SessionId } from "./ids.ts";
import type { ChatMessage } from "./message.ts";

/** Turns a long conversation into one that fits. Never separates a tool call from its result. */
export interface CompactionStrategy {
  compact(history: readonly ChatMessage[]): Promise<readonly ChatMessage[]>;
}

/** Reads a conversation as it was written. */
export interface HistoryProvider {
  read(sessionId: SessionId): Promise<readonly ChatMessage[]>;
}

/** What an agent's loop sees of its past: the messages to send now, however they are kept and trimmed. */
export interface AgentContext {
  readonly agentId: AgentId;
  getPromptWindow(sessionId: SessionId): Promise<readonly ChatMessage[]>;
}

/** Something live, such as a browser, whose state is shown to the model for one call and never stored. */
export interface EphemeralSource {
  readonly name: string;
  isOpen(): boolean;
  getState(options: {
    readonly useScreenshot: boolean;
    readonly useAccessibility: boolean;
  }): Promise<readonly ChatMessage[]>;
}
