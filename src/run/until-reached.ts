import type { ModelCalls } from "./model-calls.ts";

/** Retries of a step that cannot reach the store. */
const maxRetries = 6;

/** Reads or writes a conversation inside a step. A store that cannot be reached is tried as often as a provider. */
export async function untilReached<T>(
  calls: Pick<ModelCalls, "retries" | "again">,
  act: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (calls.retries >= maxRetries) throw error;
      await calls.again(error);
    }
  }
}
