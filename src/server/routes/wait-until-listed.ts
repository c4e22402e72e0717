import type { TreeId } from "#kernel";
import { withTimeout } from "#base";
import { partitionOf } from "../auth.ts";
import type { Call } from "../route.ts";

/**
 * Resolves when the store lists a tree that was started, at the latest after `requestTimeoutMs`. Starts are accepted faster than
 * runs are executed, so this wait applies backpressure.
 */
export async function waitUntilListed({ host, principal }: Call, tree: TreeId): Promise<void> {
  const { clock, limits, runtime } = host;
  const ms = limits.requestTimeoutMs;
  await withTimeout({ clock, ms, onTimeout: () => undefined, bestEffort: true }, ({ signal }) =>
    runtime.store.events.waitForEvents(partitionOf(principal), tree, { after: 0, signal }),
  );
}
