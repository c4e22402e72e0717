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
    store.append = async (partition, session, entries, fence) => {
      const isMade = await append(partition, session, entries, fence);
      const last = entries.at(-1);
      if (isMade && last) await store.moveLeaf(partition, session, { branch: last.branch, leaf: last.id });
      return isMade;
    };
    return store;
  },
  "keeps a dropped branch": () => Object.assign(memoryStore().sessions, { settle: async () => true }),
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
    store.adopt = async (partition, session, branch, adoption) => {
      const leaf = await store.leaf(partition, session, null);
      const outcome = await adopt(partition, session, branch, adoption);
      await store.moveLeaf(partition, session, { branch: null, leaf });
      return outcome;
    };
    return store;
  },
  "adopts a turn that was overtaken": () => {
    const store = memoryStore().sessions;
    const adopt = store.adopt.bind(store);
    store.adopt = async (partition, session, branch, { last, follows, from = follows }) => {
      const leaf = await store.leaf(partition, session, null);
      return adopt(partition, session, branch, { last, follows: leaf, from });
    };
    return store;
  },
  "drops the branches of other turns": () => {
    const store = memoryStore().sessions;
    const adopt = store.adopt.bind(store);
    store.adopt = async (partition, session, branch, adoption) => {
      const outcome = await adopt(partition, session, branch, adoption);
      const entries = await store.entries(partition, session, { after: null, limit: 999 });
      for (const each of new Set(entries.flatMap(({ branch: of }) => of ?? [])))
        if (each !== branch) await store.settle(partition, session, each, { end: null });
      return outcome;
    };
    return store;
  },
  "says that a late write of a settled turn was made": () => {
    const store = memoryStore().sessions;
    const append = store.append.bind(store);
    store.append = async (...given) => {
      await append(...given);
      return true;
    };
    return store;
  },
  "drops a turn that is to stay": () => {
    const store = memoryStore().sessions;
    const settle = store.settle.bind(store);
    store.settle = (partition, session, branch) => settle(partition, session, branch, { end: null });
    return store;
  },
  "keeps a turn that was overtaken": () => {
    const store = memoryStore().sessions;
    const settle = store.settle.bind(store);
    store.settle = (partition, session, branch, { end }) =>
      settle(partition, session, branch, { end, goesBack: true });
    return store;
  },
  "moves the main leaf for a writer": () => {
    const store = memoryStore().sessions;
    const append = store.append.bind(store);
    store.append = async (partition, session, entries, fence) => {
      const isMade = await append(partition, session, entries, fence);
      const last = entries.at(-1);
      if (isMade && last?.branch) await store.moveLeaf(partition, session, { branch: null, leaf: last.id });
      return isMade;
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
