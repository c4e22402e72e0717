import assert from "node:assert/strict";
import { ChatMessage, EntryId, Json, NotFoundError, RunId, type SessionEntry, SessionId } from "#kernel";
import { ann, entryOf, key, session, sessionOf, type StoreCase, storeCase, tree } from "./harness.ts";
import { ids, talk } from "./turn-talk.ts";

const id = EntryId.of;
const writer = RunId.of(tree, 1);
const other = RunId.of(tree, 2);
const isMissing = (error: unknown): boolean => error instanceof NotFoundError;
/** a - b - c, and b - d - e. */
const forked = [
  entryOf("a", null),
  entryOf("b", "a"),
  entryOf("c", "b"),
  entryOf("d", "b"),
  entryOf("e", "d"),
];

const every: readonly SessionEntry[] = [
  { ...entryOf("m", null), type: "message", message: ChatMessage.user("hello \u0000 there") },
  {
    ...base("k", "m"),
    type: "compaction",
    summary: "short",
    keptFrom: id("m"),
    tokensBefore: 7,
    run: writer,
  },
  { ...base("n", "k"), type: "branch", from: id("m"), summary: null },
  { ...base("l", "n"), type: "label", target: id("m"), label: "start" },
  { ...base("o", "l"), type: "model-change", model: "other" },
  { ...base("p", "o"), type: "custom", kind: "mine", data: { list: [1, null] } },
  { ...base("q", "p"), type: "unknown", raw: { type: "from-the-future", more: true } },
];

function base(name: string, parent: string): Pick<SessionEntry, "id" | "parentId" | "at" | "branch"> {
  return { id: id(name), parentId: id(parent), at: 5, branch: null };
}

export const sessionCases: readonly StoreCase[] = [
  storeCase("a session opens once, without a leaf", async (desk) => {
    await talk(desk);
    await desk.store.sessions.open(desk.tenant, sessionOf({ startedAt: 9, title: "another" }));
    const head = { ...sessionOf(), updatedAt: 1_000, leaf: null, forkedFrom: null };
    assert.deepEqual(await desk.store.sessions.head(desk.tenant, key), head);
    assert.equal(await desk.store.sessions.head(desk.tenant, { ...key, id: SessionId.of("none") }), null);
  }),

  storeCase("every kind of entry is read as it was written, even one of a later version", async (desk) => {
    await talk(desk, ...every);
    const path = await desk.store.sessions.path(desk.tenant, key, { from: id("q"), limit: 10 });
    assert.deepEqual(path.toReversed(), every);
  }),

  storeCase(
    "appending moves the leaf; an entry appended twice is there once and moves nothing",
    async (desk) => {
      const { store, tenant } = desk;
      await talk(desk, entryOf("a", null), entryOf("b", "a"));
      assert.equal(await store.sessions.leaf(tenant, key, null), "b");
      await store.sessions.append(tenant, key, [entryOf("a", null, { text: "changed" })]);
      assert.equal((await store.sessions.head(tenant, key))?.leaf, "b");
      assert.deepEqual(await store.sessions.entries(tenant, key, { after: null, limit: 9 }), [
        entryOf("a", null),
        entryOf("b", "a"),
      ]);
    },
  ),

  storeCase("entries that must follow another leaf are refused, and change nothing", async (desk) => {
    const { store, tenant } = desk;
    const append = (entry: SessionEntry, follows: string | null): Promise<boolean> =>
      store.sessions.append(tenant, key, [entry], { follows: follows === null ? null : id(follows) });
    await talk(desk);
    assert.equal(await append(entryOf("a", null), null), true);
    assert.equal(await append(entryOf("b", null), null), false);
    assert.equal(await append(entryOf("b", "a"), "a"), true);
    assert.equal(await append(entryOf("b", "a"), "a"), true);
    assert.equal(await append(entryOf("c", "a"), "a"), false);
    assert.deepEqual(ids(await store.sessions.entries(tenant, key, { after: null, limit: 9 })), ["a", "b"]);
    assert.equal(await store.sessions.leaf(tenant, key, null), "b");
  }),

  storeCase("entries of a session that was not opened are refused", async ({ store, tenant }) => {
    await assert.rejects(store.sessions.append(tenant, key, [entryOf("a", null)]), isMissing);
  }),

  storeCase("a path leads from its entry to the root, at most as far as asked for", async (desk) => {
    await talk(desk, ...forked);
    const path = (from: string, limit: number): Promise<readonly SessionEntry[]> =>
      desk.store.sessions.path(desk.tenant, key, { from: id(from), limit });
    assert.deepEqual(ids(await path("e", 9)), ["e", "d", "b", "a"]);
    assert.deepEqual(ids(await path("c", 9)), ["c", "b", "a"]);
    assert.deepEqual(ids(await path("e", 2)), ["e", "d"]);
    assert.deepEqual(await path("none", 9), []);
  }),

  storeCase("a missing parent or a cycle ends a path without an error", async (desk) => {
    await talk(desk, entryOf("x", "lost"), entryOf("y", "x"), entryOf("loop", "loop"));
    const path = await desk.store.sessions.path(desk.tenant, key, { from: id("y"), limit: 9 });
    assert.deepEqual(ids(path), ["y", "x"]);
    const circle = await desk.store.sessions.path(desk.tenant, key, { from: id("loop"), limit: 3 });
    assert.ok(circle.length <= 3);
  }),

  storeCase("the leaf moves to any existing entry or to none", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, ...forked);
    await store.sessions.moveLeaf(tenant, key, { branch: null, leaf: id("c") });
    assert.equal((await store.sessions.head(tenant, key))?.leaf, "c");
    await assert.rejects(store.sessions.moveLeaf(tenant, key, { branch: null, leaf: id("none") }), isMissing);
    assert.equal(await store.sessions.leaf(tenant, key, null), "c");
    await store.sessions.moveLeaf(tenant, key, { branch: null, leaf: null });
    assert.equal(await store.sessions.leaf(tenant, key, null), null);
  }),

  storeCase("a leaf that has moved since it was read is not moved again", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, ...forked);
    const move = (from: string | null, to: string | null): Promise<boolean> => {
      const [was, leaf] = [from, to].map((name) => (name === null ? null : id(name)));
      return store.sessions.moveLeaf(tenant, key, { branch: null, leaf: leaf ?? null, from: was ?? null });
    };
    assert.equal(await move("b", "c"), false);
    assert.equal(await move(null, "c"), false);
    assert.equal(await store.sessions.leaf(tenant, key, null), "e");
    assert.equal(await move("e", "c"), true);
    // Made again, because its answer was lost.
    assert.equal(await move("e", "c"), true);
    assert.equal(await move("c", null), true);
    assert.equal(await move(null, "a"), true);
    assert.equal(await store.sessions.leaf(tenant, key, null), "a");
  }),

  storeCase("a fork has the path only, and a link back; its source does not change", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, ...forked);
    const into = { id: SessionId.of("second"), startedAt: 2_000, title: "again", metadata: { n: 1 } };
    const fork = { id: into.id, userId: ann };
    for (const _ of ["once", "and again"])
      await store.sessions.fork(tenant, { session: key, entry: id("c") }, into);
    assert.deepEqual(await store.sessions.head(tenant, fork), {
      ...sessionOf(into),
      updatedAt: 2_000,
      leaf: "c",
      forkedFrom: { session, entry: "c" },
    });
    assert.deepEqual(ids(await store.sessions.entries(tenant, fork, { after: null, limit: 9 })), [
      "a",
      "b",
      "c",
    ]);
    await store.sessions.append(tenant, fork, [entryOf("f", "c")]);
    assert.deepEqual(ids(await store.sessions.path(tenant, fork, { from: id("f"), limit: 9 })), [
      "f",
      "c",
      "b",
      "a",
    ]);
    assert.equal((await store.sessions.entries(tenant, key, { after: null, limit: 9 })).length, 5);
    assert.equal(await store.sessions.leaf(tenant, key, null), "e");
    await assert.rejects(store.sessions.fork(tenant, { session: key, entry: id("none") }, into), isMissing);
  }),

  storeCase("a run writes its own branch, and only that branch is dropped", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, entryOf("a", null), entryOf("h", "a", { branch: writer }), entryOf("b", "a"));
    await store.sessions.append(tenant, key, [entryOf("i", "h", { branch: writer })]);
    assert.equal(await store.sessions.leaf(tenant, key, writer), "i");
    assert.equal(await store.sessions.leaf(tenant, key, null), "b");
    await store.sessions.append(tenant, key, [entryOf("o", "a", { branch: other })]);
    assert.equal(await store.sessions.settle(tenant, key, writer, { end: null }), true);
    assert.equal(await store.sessions.leaf(tenant, key, writer), null);
    assert.equal(await store.sessions.leaf(tenant, key, other), "o");
    assert.deepEqual(ids(await store.sessions.entries(tenant, key, { after: null, limit: 9 })), [
      "a",
      "b",
      "o",
    ]);
  }),

  storeCase("entries can be read in the order they came, a part at a time", async (desk) => {
    await talk(desk, ...forked);
    const { sessions } = desk.store;
    assert.deepEqual(ids(await sessions.entries(desk.tenant, key, { after: null, limit: 2 })), ["a", "b"]);
    assert.deepEqual(ids(await sessions.entries(desk.tenant, key, { after: id("b"), limit: 9 })), [
      "c",
      "d",
      "e",
    ]);
  }),

  storeCase("concurrent writers of two branches lose nothing", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk);
    const write = async (branch: RunId | null, name: string): Promise<void> => {
      for (let n = 0; n < 20; n += 1)
        await store.sessions.append(tenant, key, [entryOf(`${name}${n}`, null, { branch })]);
    };
    await Promise.all([write(null, "main"), write(writer, "writer")]);
    assert.equal((await store.sessions.entries(tenant, key, { after: null, limit: 99 })).length, 40);
    assert.equal(await store.sessions.leaf(tenant, key, null), "main19");
    assert.equal(await store.sessions.leaf(tenant, key, writer), "writer19");
  }),

  storeCase("sessions are listed newest first, by user and by page", async ({ store, tenant }) => {
    for (const n of [1, 2, 3, 4, 5]) {
      const userId = n === 3 ? null : ann;
      await store.sessions.open(tenant, sessionOf({ id: SessionId.of(`s${n}`), userId, startedAt: n }));
    }
    const first = await store.sessions.list(tenant, { userId: ann }, { size: 3 });
    assert.deepEqual(
      first.items.map((head) => String(head.id)),
      ["s5", "s4", "s2"],
    );
    const second = await store.sessions.list(tenant, { userId: ann }, { size: 3, after: first.next ?? "" });
    assert.deepEqual(
      second.items.map((head) => String(head.id)),
      ["s1"],
    );
    const anonymous = await store.sessions.list(tenant, { userId: null }, { size: 3 });
    assert.deepEqual(
      anonymous.items.map((head) => String(head.id)),
      ["s3"],
    );
    assert.deepEqual(Json.of(anonymous.next), null);
  }),
];
