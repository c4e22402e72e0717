import type { RunId } from "#kernel";
import { expect, test } from "vitest";
import { LazyTree } from "./lazy-tree.ts";

const layers = 12;
const width = 4;

test("the search for a cycle visits each run once, however many paths lead to it", () => {
  const tree = new LazyTree({ maxAgents: layers * width + 2 });
  tree.spawn(layers * width);
  const at = (layer: number, place: number): RunId => tree.child(1 + layer * width + place);
  for (let layer = 0; layer + 1 < layers; layer++)
    for (let from = 0; from < width; from++)
      for (let to = 0; to < width; to++) tree.ask(at(layer, from), at(layer + 1, to));
  // 4 to the power of 11 paths lead through these asks: without a visited set this never ends.
  expect(tree.ask(tree.root, at(0, 0)).result).toEqual({ to: at(0, 0) });
  expect(tree.ask(at(layers - 1, 0), tree.root).result).toMatchObject({ error: { code: "wait-cycle" } });
});
