import type {
  AgentId,
  EntryId,
  ErrorData,
  ExtensionEntry,
  Model,
  RunId,
  RunScope,
  SessionEntry,
  SessionId,
} from "#kernel";

/** The runtime's access to a run's conversation, from outside the run. */
export interface ConversationAccess {
  entries(): AsyncIterable<SessionEntry>;
  leaf(): Promise<EntryId | null>;
  /** @throws SessionBusyError */
  append(entry: ExtensionEntry): Promise<void>;
  isIdle(): Promise<boolean>;
  waitForIdle(): Promise<void>;
  /** @throws SessionBusyError, unless it may wait. */
  runCompaction(options: {
    readonly instructions?: string;
    readonly onBusy?: "refuse" | "queue";
  }): Promise<EntryId | null>;
  reload(): Promise<void>;
  newSession(options: { readonly title?: string }): Promise<SessionId>;
  fork(entry?: EntryId): Promise<SessionId>;
  switchSession(id: string): Promise<SessionId>;
}

/** The runtime's functions for handlers of extensions. */
export interface ExtensionPort {
  /** The models of all agents, by id. */
  readonly models: ReadonlyMap<string, Model>;
  /** Adds a failure to the list of the process. */
  noteFailure(failure: {
    readonly extension: string;
    readonly error: ErrorData;
    readonly agentId: AgentId;
  }): void;
  conversation(
    scope: Pick<RunScope, "tenantId" | "userId" | "sessionId" | "channel">,
    agentId: AgentId,
  ): ConversationAccess;
  abort(run: Pick<RunScope, "tenantId"> & { readonly runId: RunId }, reason: string): Promise<void>;
  shutdown(): void;
}
