import type { Store } from "#kernel";
import { memoryStore } from "reeve/stores/memory";
import type { Chance } from "./chance.ts";
import type { World } from "./world.ts";

/** Maximum faults, after which everything recovers. */
const mostFaults = 10;

/** A store that is slow, and fails now and then: before it has written, or after. */
export function slowStore(options: {
  readonly world: World;
  readonly chance: Chance;
  readonly faults: number;
}): Store {
  const { world, chance, faults } = options;
  let failed = 0;
  const late = async (): Promise<void> => {
    await world.turn();
    if (chance.is(0.2)) await world.pass(chance.pickBetween(1, 500));
    if (chance.is(faults) && ++failed <= mostFaults) throw new Error("the store is down");
  };
  const store = memoryStore();
  const { runs, events } = store;
  return {
    ...store,
    runs: {
      put: async (...given) => {
        await late();
        await runs.put(...given);
      },
      list: (...given) => runs.list(...given),
      search: (...given) => runs.search(...given),
      live: (...given) => runs.live(...given),
      tree: (...given) => runs.tree(...given),
    },
    events: {
      append: async (...given) => {
        await late();
        await events.append(...given);
        await late();
      },
      rewrite: async (...given) => {
        await late();
        await events.rewrite(...given);
      },
      read: (...given) => events.read(...given),
      waitForEvents: (...given) => events.waitForEvents(...given),
      changes: (...given) => events.changes(...given),
    },
    eraseTree: (...given) => store.eraseTree(...given),
    isErased: (...given) => store.isErased(...given),
    eraseUser: (...given) => store.eraseUser(...given),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
