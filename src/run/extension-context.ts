import { SessionBusyError, type ExtensionContext, type ExtensionEntry, type SessionId } from "#kernel";
import type { ConversationAccess } from "./extension-host.ts";
import type { RunServices } from "./run-services.ts";

/** A call of a handler. */
export interface CalledHandler {
  readonly signal: AbortSignal;
  /**
   * The functions that change the run from inside a step. Null: the handler is called outside the run's code, about an
   * event.
   */
  readonly inStep: {
    /** Null: nothing can be added while the conversation is compacted. */
    readonly append: ((entry: ExtensionEntry) => void) | null;
    readonly compact: () => void;
  } | null;
}

/** Creates the context of a handler of a run. */
export function createExtensionContext(
  services: RunServices,
  { signal, inStep }: CalledHandler,
): ExtensionContext {
  const { identity, policy, state } = services;
  const { scope, agentId } = identity;
  const { extensions: host, model } = policy;
  const access = host.conversation(scope, agentId);
  const isBusy = inStep !== null;
  return {
    ...createMoves(access, { session: scope.sessionId, isBusy }),
    cwd: policy.prompt.workingDirectory,
    signal,
    model,
    models: host.models,
    session: {
      id: scope.sessionId,
      entries: () => access.entries(),
      leaf: () => access.leaf(),
      append: async (entry) => {
        checkEntry(entry);
        if (!inStep) return access.append(entry);
        if (!inStep.append) throw new SessionBusyError({ session: scope.sessionId });
        inStep.append(entry);
      },
    },
    isIdle: async () => !isBusy && access.isIdle(),
    hasPendingMessages: () => state.hasPendingMessages(),
    abort: (reason = "cancelled by extension") =>
      host.abort({ tenantId: scope.tenantId, runId: scope.runId }, reason),
    shutdown: () => host.shutdown(),
    getContextUsage: () => ({ tokens: state.session.contextTokens, window: model?.contextWindow ?? null }),
    getSystemPrompt: () => state.lastPrompt.system,
    compact: () => {
      if (inStep) inStep.compact();
      else
        access.runCompaction({ onBusy: "queue" }).catch((error: unknown) => {
          services.engine.report("extension compaction", error);
        });
    },
  };
}

/** The methods that move or change a conversation. */
type Moves = Pick<
  ExtensionContext,
  "waitForIdle" | "runCompaction" | "reload" | "newSession" | "fork" | "switchSession"
>;

/** Creates the methods that move or change a conversation. All of them are refused inside a turn. */
export function createMoves(
  access: ConversationAccess,
  { session, isBusy }: { readonly session: SessionId; readonly isBusy: boolean },
): Moves {
  const move = async <T>(act: () => Promise<T>): Promise<T> => {
    if (isBusy) throw new SessionBusyError({ session });
    return act();
  };
  return {
    waitForIdle: () => move(() => access.waitForIdle()),
    runCompaction: (options = {}) => move(() => access.runCompaction(options)),
    reload: () => move(() => access.reload()),
    newSession: (options = {}) => move(() => access.newSession(options)),
    fork: (entry) => move(() => access.fork(entry)),
    switchSession: (id) => move(() => access.switchSession(id)),
  };
}

/** Checks the type of an entry. @throws TypeError for another type. */
function checkEntry({ type }: ExtensionEntry): void {
  if (type !== "custom" && type !== "label")
    throw new TypeError(`an extension may append custom and label entries, got ${JSON.stringify(type)}`);
}
