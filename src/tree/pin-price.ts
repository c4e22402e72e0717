import { Price } from "#kernel";
import type { CallRequest } from "./protocol.ts";
import type { TreeWork } from "./state/tree-work.ts";

/**
 * Returns the price at which the tree books a call. Prices of the agents' models are pinned when the tree opens; the
 * price of any other model when the tree first calls it. A later price, for example of a worker with a newer price
 * list, changes nothing. Only an unknown rate for cache writes is added.
 */
export function pinPrice(
  work: TreeWork,
  { model, price }: Pick<CallRequest, "model" | "price">,
): Price | null {
  const { prices } = work.tree;
  const pinned = prices[model];
  if (price === null) return pinned ?? null;
  const joined = pinned ? (Price.join(pinned, price) ?? pinned) : price;
  if (joined !== pinned) work.change({ prices: { ...prices, [model]: joined } });
  return joined;
}
