import type { NumberedEvent, SendOptions } from "#kernel";
import type { ProjectorOrder } from "../orders.ts";
import { batchAtHand, type AtHand } from "./event-batch.ts";
import type { TreeRecord } from "./records.ts";

/** So the store hears of a tree at most 20 times a second. */
const projectionDelayMs = 50;

/**
 * So many batches are handed to the projector before it must say that they are stored. A store that is down for long must
 * not fill the engine with orders: until it is back, events stay in their tree.
 */
const maxUnconfirmedBatches = 16;

/** An order to the projector, and what the tree remembers of it. */
interface HandedOut {
  readonly order: ProjectorOrder;
  readonly when?: SendOptions;
  readonly projection: TreeRecord["projection"];
}

/**
 * Decides how new events of a tree get to its projector. The first ones after a while go along with the order; those that
 * follow soon wait a moment, and the projector asks for them all. Null: there is nothing new, or an order is on its way.
 * `appended`: the events of this call, which are the last ones of the tree.
 */
export function handOut(
  tree: TreeRecord,
  appended: readonly NumberedEvent[],
  atHand: AtHand,
): HandedOut | null {
  const { clock: now, seq, projection } = tree;
  const { upTo, asked, at = now, batches = 0 } = projection;
  if (asked || seq <= upTo) return null;
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
