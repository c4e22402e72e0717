import assert from "node:assert/strict";
import {
  AgentId,
  EntryId,
  Labels,
  NotFoundError,
  type Partition,
  RunId,
  SessionId,
  type SessionKey,
  StepId,
  type Store,
  TreeId,
} from "#kernel";
import { ann, bob, entryOf, key, session, sessionOf, type StoreCase, storeCase } from "./harness.ts";
import { adopt, ids, mainPath, rootOf, talk } from "./turn-talk.ts";

const id = EntryId.of;
const turn = rootOf("turn");
const child = RunId.of(TreeId.of("turn"), 1);
const other = rootOf("other");
const isMissing = (error: unknown): boolean => error instanceof NotFoundError;
const all = { after: null, limit: 99 } as const;

const names = async (store: Store, tenant: Partition, filter: Parameters<Store["sessions"]["list"]>[1]) =>
  (await store.sessions.list(tenant, filter, { size: 9 })).items.map((head) => String(head.id));

export const turnCases: readonly StoreCase[] = [
  storeCase("a superseded execution does not adopt a branch that has grown since", async (desk) => {
    await talk(
      desk,
      entryOf("a", null),
      entryOf("b", "a", { branch: turn }),
      entryOf("c", "b", { branch: turn }),
    );
    assert.equal(await adopt(desk, turn, { last: "b", follows: "a" }), "incomplete");
    assert.deepEqual(ids(await mainPath(desk)), ["a"]);
    assert.equal(await adopt(desk, turn, { last: "c", follows: "a" }), "adopted");
    assert.deepEqual(ids(await mainPath(desk)), ["a", "b", "c"]);
  }),

  storeCase("a turn is on the main path once it is adopted, and not before", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, entryOf("a", null));
    const written = [
      entryOf("b", "a", { branch: turn }),
      { ...entryOf("c", "b", { branch: turn }), at: 7_000 },
    ];
    assert.equal(await store.sessions.append(tenant, key, written), true);
    assert.deepEqual(ids(await mainPath(desk)), ["a"]);
    assert.equal(await adopt(desk, turn, { last: "c", follows: "a" }), "adopted");
    assert.deepEqual(await mainPath(desk), [
      entryOf("a", null),
      ...written.map((entry) => Object.assign({}, entry, { branch: null })),
    ]);
    const head = await store.sessions.head(tenant, key);
    assert.deepEqual([head?.leaf, head?.updatedAt], ["c", 7_000]);
    assert.equal(await store.sessions.leaf(tenant, key, turn), null);
  }),

  storeCase("a written and adopted turn may be written and adopted again", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, entryOf("a", null));
    const written = [entryOf("b", "a", { branch: turn }), entryOf("c", "b", { branch: turn })];
    for (const _ of ["once", "and again"]) {
      assert.equal(await store.sessions.append(tenant, key, written), true);
      assert.equal(await adopt(desk, turn, { last: "c", follows: "a" }), "adopted");
      assert.equal(await adopt(desk, turn, { last: "c", follows: "a" }), "adopted");
      assert.deepEqual(ids(await store.sessions.entries(tenant, key, all)), ["a", "b", "c"]);
    }
    await store.sessions.append(tenant, key, [entryOf("d", "c", { branch: turn })]);
    assert.equal(await adopt(desk, turn, { last: "d", follows: "c" }), "adopted");
    // The answer to the first adoption was lost until now: the conversation stays as it is.
    assert.equal(await adopt(desk, turn, { last: "c", follows: "a" }), "adopted");
    assert.deepEqual(ids(await mainPath(desk)), ["a", "b", "c", "d"]);
  }),

  storeCase("adopting a missing branch changes nothing, and needs no session", async (desk) => {
    const { store, tenant } = desk;
    assert.equal(await adopt(desk, turn, { last: "b", follows: null }), "incomplete");
    assert.equal(await store.sessions.head(tenant, key), null);
    await talk(desk);
    assert.equal(await adopt(desk, turn, { last: "b", follows: null }), "incomplete");
    await store.sessions.append(tenant, key, [entryOf("a", null), entryOf("b", "a", { branch: other })]);
    assert.equal(await adopt(desk, turn, { last: "b", follows: "a" }), "incomplete");
    assert.deepEqual(ids(await store.sessions.entries(tenant, key, all)), ["a", "b"]);
    assert.equal((await store.sessions.head(tenant, key))?.leaf, "a");
  }),

  storeCase("adopting a turn changes no other branch", async (desk) => {
    const { store, tenant } = desk;
    await talk(
      desk,
      entryOf("a", null),
      entryOf("x", "a", { branch: other }),
      entryOf("h", "a", { branch: child }),
      entryOf("b", "a", { branch: turn }),
      entryOf("y", "x", { branch: other }),
    );
    assert.equal(await adopt(desk, turn, { last: "b", follows: "a" }), "adopted");
    assert.deepEqual(ids(await store.sessions.entries(tenant, key, all)), ["a", "x", "h", "b", "y"]);
    assert.equal(await store.sessions.leaf(tenant, key, other), "y");
    assert.equal(await store.sessions.leaf(tenant, key, child), "h");
  }),

  storeCase("a turn may begin below any entry of the main branch", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, entryOf("a", null), entryOf("b", "a"), entryOf("c", "b", { branch: turn }));
    assert.equal(await adopt(desk, turn, { last: "c", follows: "b" }), "adopted");
    await store.sessions.append(tenant, key, [entryOf("e", "a", { branch: other })]);
    const [back, wrong] = [
      { last: "e", follows: "c", from: "a" },
      { last: "e", follows: "c", from: "b" },
    ];
    assert.equal(await adopt(desk, other, wrong), "incomplete");
    assert.equal(await adopt(desk, other, back), "adopted");
    assert.deepEqual(ids(await mainPath(desk)), ["a", "e"]);
    assert.deepEqual(ids(await store.sessions.entries(tenant, key, all)), ["a", "b", "c", "e"]);
  }),

  storeCase("the ids of a run's entries fit, however long the id of its tree is", async (desk) => {
    const { store, tenant } = desk;
    const run = RunId.root(TreeId.of("t".repeat(128)));
    await talk(desk);
    const first = { ...entryOf("first", null, { branch: run }), id: EntryId.ofRun(run, 0) };
    const second = { ...entryOf("second", first.id, { branch: run }), id: EntryId.ofRun(run, 123_456) };
    await store.sessions.append(tenant, key, [first, second]);
    assert.equal(await adopt(desk, run, { last: second.id, follows: null }), "adopted");
    assert.deepEqual(ids(await mainPath(desk)), [first.id, second.id]);
  }),

  storeCase("labels, reported usage and estimates of entries are kept, even when adopted", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk);
    const usage = { input: 9, output: 3, cachedInput: 4 };
    const details = {
      labels: Labels.withSource(Labels.of({ untrusted: true }), {
        kind: "tool",
        name: "fetch",
        runId: turn,
        stepId: StepId.of(turn, "tool", 1),
      }),
      told: { hash: "h", messages: 4, usage },
      tokens: 11,
    };
    const written = { ...entryOf("a", null, { branch: turn }), ...details };
    await store.sessions.append(tenant, key, [written]);
    await adopt(desk, turn, { last: "a", follows: null });
    assert.deepEqual(await mainPath(desk), [{ ...written, branch: null }]);
  }),

  storeCase("an existing session is renamed, and a missing one is refused", async ({ store, tenant }) => {
    await store.sessions.open(tenant, sessionOf({ title: "first", metadata: { ticket: 7 } }));
    await store.sessions.open(tenant, sessionOf({ userId: bob, title: "of Bob" }));
    const title = async (of: SessionKey) => (await store.sessions.head(tenant, of))?.title;
    await store.sessions.rename(tenant, key, "second \u0000 title");
    assert.equal(await title(key), "second \u0000 title");
    await store.sessions.rename(tenant, key, null);
    assert.equal(await title(key), null);
    assert.equal(await title({ id: session, userId: bob }), "of Bob");
    assert.deepEqual((await store.sessions.head(tenant, key))?.metadata, { ticket: 7 });
    await assert.rejects(store.sessions.rename(tenant, { id: session, userId: null }, "x"), isMissing);
  }),

  storeCase("removing a session removes every branch, and it may be opened again", async (desk) => {
    const { store, tenant } = desk;
    await talk(desk, entryOf("a", null), entryOf("b", "a", { branch: turn }));
    const ofBob = { id: session, userId: bob };
    await store.sessions.open(tenant, sessionOf(ofBob));
    await store.sessions.append(tenant, ofBob, [entryOf("a", null)]);
    for (const _ of ["once", "and again"]) await store.sessions.remove(tenant, key);
    assert.equal(await store.sessions.head(tenant, key), null);
    assert.deepEqual(await store.sessions.path(tenant, key, { from: id("b"), limit: 9 }), []);
    assert.deepEqual(ids(await mainPath(desk, ofBob)), ["a"]);
    await store.sessions.open(tenant, sessionOf());
    assert.deepEqual(await store.sessions.entries(tenant, key, all), []);
    assert.equal(await store.sessions.leaf(tenant, key, turn), null);
  }),

  storeCase("lists omit sessions without a chosen id, unless asked for", async ({ store, tenant }) => {
    const [lead, writer] = [AgentId.of("lead"), AgentId.of("writer")];
    const open = (name: string, fields: Parameters<typeof sessionOf>[0]) =>
      store.sessions.open(tenant, sessionOf({ id: SessionId.of(name), ...fields }));
    await open("s1", { startedAt: 1, agentId: lead });
    await open("s2", { startedAt: 2, agentId: writer });
    await open("s3", { startedAt: 3, agentId: lead, isNamed: false });
    await open("s4", { startedAt: 4, agentId: lead, userId: bob, channel: "chat" });
    assert.deepEqual(await names(store, tenant, {}), ["s4", "s2", "s1"]);
    assert.deepEqual(await names(store, tenant, { unnamed: true }), ["s4", "s3", "s2", "s1"]);
    assert.deepEqual(await names(store, tenant, { agentId: lead }), ["s4", "s1"]);
    assert.deepEqual(await names(store, tenant, { agentId: lead, userId: ann, unnamed: true }), ["s3", "s1"]);
    assert.equal(
      (await store.sessions.head(tenant, { id: SessionId.of("s4"), userId: bob }))?.channel,
      "chat",
    );
  }),

  storeCase("pages do not skip sessions of the same id and time", async ({ store, tenant }) => {
    for (const userId of [ann, bob, null]) await store.sessions.open(tenant, sessionOf({ userId }));
    const seen: (string | null)[] = [];
    let next: string | null = "";
    while (next !== null) {
      const page: { readonly size: number; readonly after?: string } = next
        ? { size: 1, after: next }
        : { size: 1 };
      const list = await store.sessions.list(tenant, {}, page);
      seen.push(...list.items.map((head) => head.userId));
      next = list.next;
    }
    assert.deepEqual(seen, [bob, ann, null]);
  }),

  storeCase("1,000 interleaved turns of two users with the same session name never mix", async (desk) => {
    const { store, tenant } = desk;
    const live = async (user: typeof ann | null, turns: number): Promise<void> => {
      const own = { id: session, userId: user };
      await store.sessions.open(tenant, sessionOf(own));
      let leaf: string | null = null;
      for (let n = 0; n < turns; n += 1) {
        // The same ids and runs for everyone: only the user keeps them apart.
        const branch = RunId.root(TreeId.of(`t${n}`));
        await store.sessions.append(tenant, own, [entryOf(`e${n}`, leaf, { branch, text: `of ${user}` })]);
        assert.equal(await adopt(desk, branch, { last: `e${n}`, follows: leaf }, own), "adopted");
        leaf = `e${n}`;
      }
    };
    await Promise.all([live(ann, 500), live(bob, 500), live(null, 20)]);
    for (const user of [ann, bob, null]) {
      const path = await mainPath(desk, { id: session, userId: user });
      assert.equal(path.length, user === null ? 20 : 500);
      const crossings = path.filter((entry) => !JSON.stringify(entry).includes(`of ${user}`));
      assert.deepEqual(crossings, []);
    }
  }),
];
