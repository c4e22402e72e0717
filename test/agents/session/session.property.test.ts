import * as fc from "fast-check";
import type { SessionStore } from "reeve";
import { expect, test } from "vitest";
import { memoryStore } from "reeve/stores/memory";
import { sessionProperty } from "./session-property.ts";

const numRuns = Number(process.env["REEVE_PROPERTY_RUNS"] ?? 5_000);
const manyRuns = { timeout: 600_000 };

test(`${numRuns} random sequences leave sessions as plain ones, and windows whole`, manyRuns, async () => {
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
      if (last) await store.moveLeaf(partition, session, last.branch, last.id);
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
  "moves the main leaf for a helper": () => {
    const store = memoryStore().sessions;
    const append = store.append.bind(store);
    store.append = async (partition, session, entries) => {
      await append(partition, session, entries);
      const last = entries.at(-1);
      if (last?.branch) await store.moveLeaf(partition, session, null, last.id);
    };
    return store;
  },
};

test.each(Object.keys(planted))("the property catches a store that %s", manyRuns, async (name) => {
  const check = await fc.check(sessionProperty(planted[name] ?? (() => memoryStore().sessions)), {
    numRuns: 1_000,
  });
  expect(check.failed).toBe(true);
});
