import type { NumberedEvent, SendOptions } from "#kernel";
import type { ProjectorOrder } from "../orders.ts";
import { batchAtHand, type BatchContent } from "./event-batch.ts";
import type { TreeRecord } from "./records.ts";

/** Minimum delay between two projections: at most 20 writes to the store per second and tree. */
const projectionDelayMs = 50;

/**
 * Maximum number of batches that the projector gets before it must confirm them. A store that is down for long must not
 * fill the engine with orders: until it is back, events stay in their tree.
 */
const maxUnconfirmedBatches = 16;

/** An order to the projector, and the tree's record of it. */
interface HandOutResult {
  readonly order: ProjectorOrder;
  readonly when?: SendOptions;
  readonly projection: TreeRecord["projection"];
}

/**
 * Decides how new events of a tree get to its projector. After a quiet period, the order carries the events. Events
 * that follow soon wait a moment, and the projector then reads all of them. There must be new events, and no order on
 * its way. `appended`: the events of this call, which are the tree's last ones.
 */
export function handOut(
  tree: TreeRecord,
  appended: readonly NumberedEvent[],
  atHand: BatchContent,
): HandOutResult {
  const { clock: now, seq, projection } = tree;
  const { upTo, at = now, batches = 0 } = projection;
  const isComplete = upTo === seq - appended.length;
  const batch = isComplete && now >= at + projectionDelayMs ? batchAtHand(tree, appended, atHand) : null;
  if (!batch)
    return {
      order: { kind: "write", after: upTo, at: now },
      when: { delayMs: projectionDelayMs },
      projection: { ...projection, asked: true },
    };
  const isLast = batches + 1 >= maxUnconfirmedBatches;
  return {
    order: { kind: "events", batch, confirm: isLast, at: now },
    projection: { upTo: seq, asked: isLast, at: now, batches: isLast ? 0 : batches + 1 },
  };
}
