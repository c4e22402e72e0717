import type { ModelCalls } from "./model-calls.ts";

/** Maximum retries of a step that cannot reach the store. */
const maxRetries = 6;

/** Reads or writes a conversation inside a step. An unreachable store is retried like a provider. */
export async function untilReached<T>(
  calls: Pick<ModelCalls, "retries" | "waitForRetry">,
  act: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (calls.retries >= maxRetries) throw error;
      await calls.waitForRetry(error);
    }
  }
}
