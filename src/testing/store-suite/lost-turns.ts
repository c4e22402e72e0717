import assert from "node:assert/strict";
import { type AdoptionOutcome, RunId, type SessionEntry, TreeId } from "#kernel";
import { type Desk, entryOf, key, type StoreCase, storeCase } from "./harness.ts";
import { adopt, endOf, ids, mainPath, rootOf, talk } from "./turn-talk.ts";

const first = rootOf("first");
const second = rootOf("second");
const child = RunId.of(TreeId.of("first"), 1);
const all = { after: null, limit: 99 } as const;

const settle = ({ store, tenant }: Desk, run: RunId, end: SessionEntry | null, goesBack = false) =>
  store.sessions.settle(tenant, key, run, { end, goesBack });
const allIds = async ({ store, tenant }: Desk): Promise<string[]> =>
  ids(await store.sessions.entries(tenant, key, all));

/** Turns that come too late, and turns that are ended before they are saved. */
export const lostTurnCases: readonly StoreCase[] = [
  storeCase("a turn that was overtaken is not adopted, and the other turn stays whole", async (desk) => {
    await talk(
      desk,
      entryOf("a", null),
      entryOf("b", "a", { branch: first }),
      entryOf("x", "a", { branch: second }),
      entryOf("y", "x", { branch: second }),
    );
    assert.equal(await adopt(desk, second, { last: "y", follows: "a" }), "adopted");
    assert.equal(await adopt(desk, first, { last: "b", follows: "a" }), "overtaken");
    // Nor does it help to name the new leaf: the turn does not begin there.
    assert.equal(await adopt(desk, first, { last: "b", follows: "y" }), "incomplete");
    assert.deepEqual(ids(await mainPath(desk)), ["a", "x", "y"]);
    assert.deepEqual(await allIds(desk), ["a", "b", "x", "y"]);
  }),

  storeCase("a turn that went back is overtaken like any other", async (desk) => {
    await talk(
      desk,
      entryOf("a", null),
      entryOf("b", "a"),
      entryOf("c", "a", { branch: first }),
      entryOf("x", "b", { branch: second }),
    );
    assert.equal(await adopt(desk, second, { last: "x", follows: "b" }), "adopted");
    assert.equal(await adopt(desk, first, { last: "c", follows: "b", from: "a" }), "overtaken");
    assert.deepEqual(ids(await mainPath(desk)), ["a", "b", "x"]);
    assert.equal(await adopt(desk, first, { last: "c", follows: "x", from: "a" }), "adopted");
    assert.deepEqual(ids(await mainPath(desk)), ["a", "c"]);
  }),

  storeCase("a turn with a gap is not adopted", async (desk) => {
    await talk(desk, entryOf("a", null), entryOf("d", "c", { branch: first }));
    assert.equal(await adopt(desk, first, { last: "d", follows: "a" }), "incomplete");
    // The missing entry belongs to another run: the path would lead through its branch.
    await desk.store.sessions.append(desk.tenant, key, [entryOf("c", "a", { branch: child })]);
    assert.equal(await adopt(desk, first, { last: "d", follows: "a" }), "incomplete");
    assert.equal(await adopt(desk, first, { last: "d", follows: "a", from: "c" }), "incomplete");
    assert.deepEqual(ids(await mainPath(desk)), ["a"]);
  }),

  storeCase("a settled turn refuses late writes for good, and other runs still write", async (desk) => {
    const { store, tenant } = desk;
    const append = (...entries: readonly SessionEntry[]) => store.sessions.append(tenant, key, entries);
    await talk(desk, entryOf("a", null), entryOf("b", "a", { branch: first }));
    await append(entryOf("h", "a", { branch: child }), entryOf("x", "a", { branch: second }));
    for (const _ of ["once", "and again"]) assert.equal(await settle(desk, first, null), true);
    assert.equal(
      await append(entryOf("b", "a", { branch: first }), entryOf("c", "b", { branch: first })),
      false,
    );
    assert.equal(await adopt(desk, first, { last: "c", follows: "a" }), "settled");
    const summary = entryOf("s", "a");
    assert.equal(await store.sessions.append(tenant, key, [summary], { turn: first }), false);
    assert.equal(await store.sessions.leaf(tenant, key, first), null);
    assert.deepEqual(await allIds(desk), ["a", "h", "x"]);
    assert.equal(await adopt(desk, second, { last: "x", follows: "a" }), "adopted");
    assert.equal(await append(entryOf("i", "h", { branch: child })), true);
    assert.deepEqual(ids(await mainPath(desk)), ["a", "x"]);
  }),

  storeCase("a turn that ends without an answer stays, closed by its end", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, entryOf("a", null), entryOf("b", "a", { branch: first }));
    assert.equal(await settle(desk, first, endOf(first)), true);
    const path = await mainPath(desk);
    assert.deepEqual(ids(path), ["a", "b", "first~0.end"]);
    assert.deepEqual(path.at(-1), { ...endOf(first), parentId: "b", branch: null });
    assert.equal((await store.sessions.head(tenant, key))?.updatedAt, 9_000);
    // The save of the whole turn arrives late.
    assert.equal(await store.sessions.append(tenant, key, [entryOf("c", "b", { branch: first })]), false);
    assert.equal(await adopt(desk, first, { last: "c", follows: "a" }), "settled");
    assert.equal(await settle(desk, first, endOf(first)), true);
    assert.deepEqual(ids(await mainPath(desk)), ["a", "b", "first~0.end"]);
  }),

  storeCase("a turn that ends after another one was saved cannot stay", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, entryOf("a", null), entryOf("b", "a", { branch: first }), entryOf("x", "a"));
    assert.equal(await settle(desk, first, endOf(first)), false);
    assert.deepEqual(await allIds(desk), ["a", "b", "x"]);
    assert.equal(await store.sessions.leaf(tenant, key, first), "b");
    assert.equal(await settle(desk, first, null), true);
    assert.deepEqual(await allIds(desk), ["a", "x"]);
    assert.deepEqual(ids(await mainPath(desk)), ["a", "x"]);
  }),

  storeCase("a turn with a gap cannot stay", async (desk) => {
    await talk(desk, entryOf("a", null), entryOf("d", "c", { branch: first }));
    for (const goesBack of [false, true])
      assert.equal(await settle(desk, first, endOf(first), goesBack), false);
    assert.deepEqual(ids(await mainPath(desk)), ["a"]);
  }),

  storeCase("a turn that went back stays below the entry it began at", async (desk) => {
    await talk(desk, entryOf("a", null), entryOf("b", "a"), entryOf("c", "a", { branch: first }));
    assert.equal(await settle(desk, first, endOf(first)), false);
    assert.equal(await settle(desk, first, endOf(first), true), true);
    assert.deepEqual(ids(await mainPath(desk)), ["a", "c", "first~0.end"]);
  }),

  storeCase("a turn that has written nothing is settled, and adds nothing", async (desk) => {
    const { store, tenant } = desk;
    assert.equal(await settle(desk, first, endOf(first)), true);
    assert.equal(await store.sessions.head(tenant, key), null);
    await talk(desk, entryOf("a", null));
    assert.equal(await settle(desk, first, endOf(first)), true);
    assert.deepEqual(await allIds(desk), ["a"]);
    assert.equal(await store.sessions.append(tenant, key, [entryOf("b", "a", { branch: first })]), false);
    // The session goes with what it knows of its turns.
    await store.sessions.remove(tenant, key);
    await talk(desk);
    assert.equal(await store.sessions.append(tenant, key, [entryOf("b", null, { branch: first })]), true);
  }),

  storeCase("only the settled branch of a turn saved in part is dropped", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, entryOf("a", null, { branch: first }));
    assert.equal(await adopt(desk, first, { last: "a", follows: null }), "adopted");
    await store.sessions.append(tenant, key, [entryOf("b", "a", { branch: first })]);
    assert.equal(await settle(desk, first, null), true);
    assert.deepEqual(await allIds(desk), ["a"]);
    assert.deepEqual(ids(await mainPath(desk)), ["a"]);
  }),

  storeCase("of many turns that follow the same entry, one is adopted", async (desk) => {
    const { store, tenant, harness } = desk;
    const runs = Array.from({ length: 8 }, (_, n) => rootOf(`rival${n}`));
    await talk(desk, entryOf("a", null));
    for (const run of runs)
      await store.sessions.append(tenant, key, [
        entryOf(`${run}.1`, "a", { branch: run }),
        entryOf(`${run}.2`, `${run}.1`, { branch: run }),
      ]);
    const rivals = await harness.open();
    try {
      const outcomes = await Promise.all(
        runs.map((run, n) => {
          const at = { store: n % 2 === 0 ? store : rivals, tenant };
          return adopt(at, run, { last: `${run}.2`, follows: "a" });
        }),
      );
      const winner = outcomes.indexOf("adopted");
      const others = outcomes.filter((_, n) => n !== winner);
      assert.deepEqual(
        others,
        others.map(() => "overtaken"),
      );
      assert.deepEqual(ids(await mainPath(desk)), ["a", `${runs[winner]}.1`, `${runs[winner]}.2`]);
    } finally {
      await rivals[Symbol.asyncDispose]();
    }
  }),

  storeCase("a turn is adopted or settled, never both", async (desk) => {
    const { store, tenant, harness } = desk;
    const rival = await harness.open();
    try {
      await talk(desk);
      let leaf: string | null = null;
      for (let n = 0; n < 20; n += 1) {
        const run = rootOf(`t${n}`);
        const last = `${run}.1`;
        await store.sessions.append(tenant, key, [entryOf(last, leaf, { branch: run })]);
        const [outcome]: readonly [AdoptionOutcome, boolean] = await Promise.all([
          adopt({ store: rival, tenant }, run, { last, follows: leaf }),
          settle(desk, run, n % 2 === 0 ? endOf(run) : null),
        ]);
        const path = ids(await mainPath(desk)).filter((id) => id.startsWith(run));
        const settled = n % 2 === 0 ? [last, `${run}.end`] : [];
        assert.deepEqual(path, outcome === "adopted" ? [last] : settled);
        leaf = await store.sessions.leaf(tenant, key, null);
      }
    } finally {
      await rival[Symbol.asyncDispose]();
    }
  }),
];
