import type { EntryId, SessionId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Model } from "./model.ts";
import type { SessionEntry } from "./session.ts";

/** An entry that an extension may add to a conversation. The model is not shown it. */
export type ExtensionEntry =
  | { readonly type: "custom"; readonly kind: string; readonly data: Json }
  | { readonly type: "label"; readonly target: EntryId; readonly label: string | null };

/** The conversation that an extension is called about. */
interface ExtensionSession {
  readonly id: SessionId;
  /** Yields the entries of the conversation, newest first, as the store has them; none without a store. */
  entries(): AsyncIterable<SessionEntry>;
  /** Returns the newest entry of the conversation in the store. Null: there is none. */
  leaf(): Promise<EntryId | null>;
  /**
   * Appends an entry. During a turn it is saved or dropped with the turn; between turns it is added to the
   * conversation. @throws SessionBusyError outside the current turn; TypeError for an invalid entry.
   */
  append(entry: ExtensionEntry): Promise<void>;
}

/**
 * The context of every handler of an extension. Methods that move or change the conversation are refused inside a turn with a
 * SessionBusyError: a handler of an event may call them once the turn is over.
 */
export interface ExtensionContext {
  /** The working directory of the runtime. Null: it has none. */
  readonly cwd: string | null;
  /** Aborted when the run must stop, or when the handler takes too long. */
  readonly signal: AbortSignal;
  /** The agent's model. Undefined: it has none. */
  readonly model: Model | undefined;
  /** The models of all agents of the program, by id. */
  readonly models: ReadonlyMap<string, Model>;
  readonly session: ExtensionSession;
  /** Whether no turn and no compaction of the conversation is going on. */
  isIdle(): Promise<boolean>;
  /** Waits until the conversation is idle. @throws SessionBusyError inside a turn, which would wait for itself. */
  waitForIdle(): Promise<void>;
  /** Whether messages, steering or follow-ups wait for the run. */
  hasPendingMessages(): boolean;
  /** Cancels the run. Default reason: `cancelled by extension`. */
  abort(reason?: string): Promise<void>;
  /** Drains the worker in this process: it takes no more work. Does not wait. */
  shutdown(): void;
  /** Returns the tokens of the last model step, and those that fit into a call. Null: not known. */
  getContextUsage(): { readonly tokens: number; readonly window: number | null };
  /** Returns the system prompt of the last model step. Empty: there was none. */
  getSystemPrompt(): string;
  /** Asks for a compaction after the turn. */
  compact(): void;
  /**
   * Compacts the conversation now. Returns the entry with the summary. Null: nothing has changed. @throws
   * SessionBusyError
   */
  runCompaction(options?: { readonly instructions?: string }): Promise<EntryId | null>;
  /** Reloads files and other texts of the agent. Takes effect at the next launch. @throws SessionBusyError */
  reload(): Promise<void>;
  /** Begins another conversation of the user with the agent. @throws SessionBusyError */
  newSession(options?: { readonly title?: string }): Promise<SessionId>;
  /** Copies the conversation up to an entry, by default all of it. @throws SessionBusyError, NotFoundError */
  fork(entry?: EntryId): Promise<SessionId>;
  /** Checks that the user has such a conversation, and returns its id. @throws SessionBusyError, NotFoundError */
  switchSession(id: string): Promise<SessionId>;
}
