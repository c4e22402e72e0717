import { ChatMessage, type EntryId, Labels, type SessionEntry } from "#kernel";
import { estimateTokens } from "#models";
import type { Session } from "./session.ts";
import { type MessageGroup, ToolGroups } from "./tool-groups.ts";
import { trimResults } from "./trim-results.ts";
import { describeTurnEnd } from "./turn-end.ts";

/** Options of a prompt window. An absent limit is none. */
export interface PromptWindowOptions {
  /** The newest entry to show. Default: the main leaf. A turn pins it when it begins. */
  readonly at?: EntryId | null;
  /** Maximum number of messages. */
  readonly maxMessages?: number;
  /** Maximum tokens, as `estimateTokens` counts them. */
  readonly maxTokens?: number;
  /**
   * Maximum tokens if `maxTokens` leaves something out. A lower value keeps the beginning of the prompt the same for
   * some turns. Default: `maxTokens`.
   */
  readonly cutTo?: number;
  /** Shortens old tool results. Absent: all stay whole. */
  readonly oldResults?: OldResults;
}

/** Options for old tool results. */
export interface OldResults {
  /** Number of newest cycles whose results stay whole. */
  readonly wholeCycles: number;
  /** Characters of an older result that stay. 0 leaves only a note. */
  readonly characters: number;
}

/**
 * Returns the messages of a conversation for a model, oldest first: the newest that fit, after the summary of the last
 * compaction. The limits always apply: a message that does not fit ends the window, even the newest one. A tool call
 * and its result are never separated. Reads no further back than the window, so its cost does not depend on the length
 * of the session.
 */
export async function getPromptWindow(
  session: Session,
  options: PromptWindowOptions = {},
): Promise<readonly ChatMessage[]> {
  return (await readPromptWindow(session, options)).messages;
}

/** The messages of a conversation for a model, with their metadata. */
export interface PromptWindow {
  readonly messages: readonly ChatMessage[];
  /** The oldest entry of the window, or the compaction that it begins with. Null: it is empty. */
  readonly from: EntryId | null;
  /** The entries of messages that are shown unchanged. */
  readonly entries: ReadonlyMap<ChatMessage, EntryId>;
  /** The labels of everything in it. */
  readonly labels: Labels;
  /** The newest reported prompt size since the newest compaction. Absent: none. */
  readonly told?: SessionEntry["told"];
  /** The tokens of the messages, as `estimateTokens` counts them. */
  readonly tokens: number;
}

/** Returns the window as {@link getPromptWindow}, with metadata of the messages. */
export async function readPromptWindow(
  session: Session,
  options: PromptWindowOptions = {},
): Promise<PromptWindow> {
  const window = new Window(options);
  const groups = new ToolGroups();
  let labels = Labels.none;
  let told: SessionEntry["told"];
  const entries = new Map<ChatMessage, EntryId>();
  for await (const entry of session.path(options.at)) {
    if (entry.type === "compaction") window.summarise(entry);
    const message = toEntryMessage(entry);
    if (message && entry.type === "message") entries.set(message, entry.id);
    if (message && entry.tokens !== undefined) window.sizes.set(message, entry.tokens);
    const group = message && groups.add(message);
    if (group && !window.add(group, entry.id)) break;
    labels = Labels.join(labels, entry.labels);
    // Figures from before a compaction describe another prompt.
    if (window.keptFrom === null) told ??= entry.told;
    if (entry.id === window.keptFrom || window.isFull) break;
  }
  const { messages, tokens, from } = window;
  return { messages, entries, from, labels, tokens, ...(told && { told }) };
}

/** Returns the message that an entry shows to a model. Null: none. */
export function toEntryMessage(entry: SessionEntry): ChatMessage | null {
  if (entry.type === "message") return entry.message;
  const end = describeTurnEnd(entry);
  if (end) return ChatMessage.user(end);
  if (entry.type !== "branch" || !entry.summary) return null;
  return ChatMessage.user(`Summary of another branch of this conversation:\n\n${entry.summary}`);
}

/** Returns the message that replaces a summarized part of a conversation. */
export const summaryMessage = (summary: string): ChatMessage =>
  ChatMessage.user(`Summary of the conversation so far:\n\n${summary}`);

/** A window that is filled from the newest message to the oldest. */
class Window {
  readonly #oldResults: OldResults | undefined;
  #messagesLeft: number;
  #tokensLeft: number;
  readonly #cutTo: number;
  #cycles = 0;
  #summary: ChatMessage | null = null;
  /** The newest compaction met so far. */
  #compaction: EntryId | null = null;
  /** Newest first, each with its first entry. */
  readonly #groups: { readonly group: MessageGroup; readonly from: EntryId; readonly tokens: number }[] = [];
  /** Tokens of messages as their entries state them. A message that is shown in part is measured. */
  readonly sizes = new Map<ChatMessage, number>();
  /** The first entry that the newest compaction so far keeps. */
  keptFrom: EntryId | null = null;
  tokens = 0;
  /** Whether a message did not fit. */
  #isCut = false;

  constructor({
    maxMessages = Infinity,
    maxTokens = Infinity,
    cutTo = maxTokens,
    oldResults,
  }: PromptWindowOptions) {
    this.#messagesLeft = maxMessages;
    this.#tokensLeft = maxTokens;
    this.#cutTo = cutTo;
    this.#oldResults = oldResults;
  }

  get isFull(): boolean {
    return this.#messagesLeft < 1 || this.#tokensLeft < 1;
  }

  get messages(): readonly ChatMessage[] {
    return [
      ...(this.#summary ? [this.#summary] : []),
      ...this.#groups.toReversed().flatMap(({ group }) => group),
    ];
  }

  /** The compaction that the messages begin with, or the first entry of the oldest ones. */
  get from(): EntryId | null {
    return (this.#isCut ? undefined : this.#compaction) ?? this.#groups.at(-1)?.from ?? this.#compaction;
  }

  /**
   * Reserves room for the summary of the newest compaction: it is worth more than the oldest messages after it. An
   * older one changes nothing.
   */
  summarise({ id, summary, keptFrom }: Extract<SessionEntry, { readonly type: "compaction" }>): void {
    if (this.keptFrom) return;
    this.keptFrom = keptFrom;
    this.#compaction = id;
    const message = summaryMessage(summary);
    if (this.#take([message]) !== null) this.#summary = message;
  }

  /** Adds a group. Returns whether it fits. */
  add(group: MessageGroup, from: EntryId): boolean {
    const isCycle = group.length > 1;
    const old = this.#oldResults;
    const shown =
      isCycle && old && this.#cycles >= old.wholeCycles ? trimResults(group, old.characters) : group;
    const tokens = this.#take(shown);
    if (tokens === null) {
      this.#cut();
      return false;
    }
    if (isCycle) this.#cycles += 1;
    this.#groups.push({ group: shown, from, tokens });
    return true;
  }

  /** Leaves out the oldest messages, down to `cutTo`. */
  #cut(): void {
    this.#isCut = true;
    while (this.tokens > this.#cutTo) {
      const oldest = this.#groups.pop();
      if (!oldest) return;
      this.tokens -= oldest.tokens;
    }
  }

  /** Returns the tokens of a group. Null if it does not fit. */
  #take(group: MessageGroup): number | null {
    let tokens = 0;
    for (const message of group) tokens += this.sizes.get(message) ?? estimateTokens([message]);
    if (group.length > this.#messagesLeft || tokens > this.#tokensLeft) return null;
    this.tokens += tokens;
    this.#messagesLeft -= group.length;
    this.#tokensLeft -= tokens;
    return tokens;
  }
}
