import { CancellationError, ModelError, type ChatMessage, type RunContext } from "#kernel";

/** The part of a turn's state that a compaction changes. */
export interface RoomState {
  readonly ctx: RunContext;
  /** The system message and the messages of the turn. */
  readonly messages: ChatMessage[];
  /** The summary that replaces the turn's first messages. Null: the turn has all of them. */
  summary: string | null;
}

/** Makes a model call. A prompt that is too long is shortened first, once. */
export async function withRoom<T>(state: RoomState, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const isTooLong = error instanceof ModelError && error.kind === "context-overflow";
    if (!isTooLong || !(await makeRoom(state))) throw error;
    return call();
  }
}

/** Summarizes the oldest messages in the middle of a turn. Returns false if nothing has changed. */
async function makeRoom(state: RoomState): Promise<boolean> {
  const { ctx, messages } = state;
  const first = messages[0]?.role === "system" ? 1 : 0;
  const made = await ctx.session.runCompaction({ cause: "overflow", messages: messages.slice(first) });
  if (!made) return false;
  messages.splice(first, messages.length - first, ...made.messages);
  state.summary = made.summary;
  return true;
}

/** Compacts the conversation after a turn, if it is due or was requested. Returns false if the run was cancelled. */
export async function compactAfterTurn({ ctx }: Pick<RoomState, "ctx">): Promise<boolean> {
  try {
    await ctx.session.runCompaction({ cause: "turn-end", messages: [] });
    return true;
  } catch (error) {
    if (error instanceof CancellationError) return false;
    throw error;
  }
}
