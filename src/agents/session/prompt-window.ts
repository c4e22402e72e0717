import { ChatMessage, type EntryId, type SessionEntry } from "#kernel";
import { estimateTokens } from "#models";
import type { Session } from "./session.ts";
import { type MessageGroup, ToolGroups } from "./tool-groups.ts";
import { trimResults } from "./trim-results.ts";

/** What of a conversation a model is shown. An absent limit is none. */
export interface PromptWindowOptions {
  /** The newest entry to show. Default: the main leaf. A turn pins it when it begins. */
  readonly at?: EntryId | null;
  /** Messages at most. */
  readonly maxMessages?: number;
  /** Tokens at most, as `estimateTokens` counts them. */
  readonly maxTokens?: number;
  /** Shortens old tool results. Absent: all stay whole. */
  readonly oldResults?: OldResults;
}

/** How old tool results are shortened. */
export interface OldResults {
  /** In how many cycles, counted from the newest, results stay whole. */
  readonly wholeCycles: number;
  /** Characters that stay of an older result; 0 leaves a note only. */
  readonly characters: number;
}

/**
 * The messages of a conversation for a model, oldest first: the newest that fit, after the summary that stands for what
 * a compaction put away. The limits hold always: a message that does not fit ends the window, even the newest one.
 * A tool call and its result are never separated. Reads no further back than the window goes, so what it costs does not
 * depend on how long the session is.
 */
export async function getPromptWindow(
  session: Session,
  options: PromptWindowOptions = {},
): Promise<readonly ChatMessage[]> {
  const window = new Window(options);
  const groups = new ToolGroups();
  for await (const entry of session.path(options.at)) {
    if (entry.type === "compaction") window.summarise(entry);
    const message = messageOf(entry);
    const group = message && groups.add(message);
    if (group && !window.add(group)) break;
    if (entry.id === window.keptFrom || window.isFull) break;
  }
  return window.messages;
}

function messageOf(entry: SessionEntry): ChatMessage | null {
  if (entry.type === "message") return entry.message;
  if (entry.type !== "branch" || !entry.summary) return null;
  return ChatMessage.user(`Summary of another branch of this conversation:\n\n${entry.summary}`);
}

/** Fills from the newest to the oldest. */
class Window {
  readonly #oldResults: OldResults | undefined;
  #messagesLeft: number;
  #tokensLeft: number;
  #cycles = 0;
  #summary: ChatMessage | null = null;
  readonly #groups: MessageGroup[] = [];
  /** Where the newest compaction met so far stops putting away. */
  keptFrom: EntryId | null = null;

  constructor({ maxMessages = Infinity, maxTokens = Infinity, oldResults }: PromptWindowOptions) {
    this.#messagesLeft = maxMessages;
    this.#tokensLeft = maxTokens;
    this.#oldResults = oldResults;
  }

  get isFull(): boolean {
    return this.#messagesLeft < 1 || this.#tokensLeft < 1;
  }

  get messages(): readonly ChatMessage[] {
    return [...(this.#summary ? [this.#summary] : []), ...this.#groups.toReversed().flat()];
  }

  /** Keeps room for the summary of the newest compaction: it is worth more than the oldest messages after it. */
  summarise({ summary, keptFrom }: { readonly summary: string; readonly keptFrom: EntryId }): void {
    if (this.keptFrom) return;
    this.keptFrom = keptFrom;
    const message = ChatMessage.user(`Summary of the conversation so far:\n\n${summary}`);
    if (this.#take([message])) this.#summary = message;
  }

  /** Whether the group fitted. */
  add(group: MessageGroup): boolean {
    const isCycle = group.length > 1;
    const old = this.#oldResults;
    const shown =
      isCycle && old && this.#cycles >= old.wholeCycles ? trimResults(group, old.characters) : group;
    if (!this.#take(shown)) return false;
    if (isCycle) this.#cycles += 1;
    this.#groups.push(shown);
    return true;
  }

  #take(group: MessageGroup): boolean {
    const tokens = estimateTokens(group);
    if (group.length > this.#messagesLeft || tokens > this.#tokensLeft) return false;
    this.#messagesLeft -= group.length;
    this.#tokensLeft -= tokens;
    return true;
  }
}
