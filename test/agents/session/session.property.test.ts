import * as fc from "fast-check";
import type { SessionStore } from "reeve/store";
import { expect, test } from "vitest";
import { memoryStore } from "reeve/stores/memory";
import { sessionProperty } from "./session-property.ts";
import { propertyRuns } from "../../effort.ts";

const numRuns = propertyRuns(5_000);

test(`${numRuns} random sequences leave sessions equal to a simple model, and windows valid`, async () => {
  await fc.assert(
    sessionProperty(() => memoryStore().sessions),
    { numRuns },
  );
});

const planted: Readonly<Record<string, () => SessionStore>> = {
  "moves the leaf for an append that was made before": () => {
    const store = memoryStore().sessions;
    const append = store.append.bind(store);
    store.append = async (partition, session, entries) => {
      await append(partition, session, entries);
      const last = entries.at(-1);
      if (last) await store.moveLeaf(partition, session, { branch: last.branch, leaf: last.id });
    };
    return store;
  },
  "keeps a dropped branch": () =>
    Object.assign(memoryStore().sessions, { dropBranch: () => Promise.resolve() }),
  "forks at the leaf": () => {
    const store = memoryStore().sessions;
    const fork = store.fork.bind(store);
    store.fork = async (partition, from, into) => {
      const leaf = await store.leaf(partition, from.session, null);
      await fork(partition, { ...from, entry: leaf ?? from.entry }, into);
    };
    return store;
  },
  "adopts a turn and leaves the leaf": () => {
    const store = memoryStore().sessions;
    const adopt = store.adopt.bind(store);
    store.adopt = async (partition, session, branch) => {
      const leaf = await store.leaf(partition, session, null);
      await adopt(partition, session, branch);
      await store.moveLeaf(partition, session, { branch: null, leaf });
      return leaf;
    };
    return store;
  },
  "adopts a turn that is not there": () => {
    const store = memoryStore().sessions;
    const adopt = store.adopt.bind(store);
    store.adopt = async (partition, session, branch) => {
      if ((await store.leaf(partition, session, branch)) === null)
        await store.moveLeaf(partition, session, { branch: null, leaf: null });
      return adopt(partition, session, branch);
    };
    return store;
  },
  "keeps turns that were never adopted": () => {
    const store = memoryStore().sessions;
    store.adopt = async (partition, session, branch) => {
      const leaf = await store.leaf(partition, session, branch);
      if (leaf === null) return store.leaf(partition, session, null);
      const path = await store.path(partition, session, { from: leaf, limit: 999 });
      const own = path.filter((entry) => entry.branch === branch).toReversed();
      await store.dropBranch(partition, session, branch);
      await store.append(
        partition,
        session,
        own.map((entry) => Object.assign({}, entry, { branch: null })),
      );
      return store.leaf(partition, session, null);
    };
    return store;
  },
  "moves the main leaf for a writer": () => {
    const store = memoryStore().sessions;
    const append = store.append.bind(store);
    store.append = async (partition, session, entries) => {
      await append(partition, session, entries);
      const last = entries.at(-1);
      if (last?.branch) await store.moveLeaf(partition, session, { branch: null, leaf: last.id });
    };
    return store;
  },
};

test.each(Object.keys(planted))("the property catches a store that %s", async (name) => {
  const check = await fc.check(sessionProperty(planted[name] ?? (() => memoryStore().sessions)), {
    numRuns: 1_000,
  });
  expect(check.failed).toBe(true);
});
