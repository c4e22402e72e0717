import assert from "node:assert/strict";
import {
  EntryId,
  exportUser,
  MemoryItem,
  MemoryOwner,
  type Partition,
  RunId,
  SessionId,
  StepId,
  type Store,
  TreeId,
  type UserId,
  type UserRecord,
} from "#kernel";
import {
  ann,
  blockEditOf,
  bob,
  entryOf,
  eventOf,
  factOf,
  key,
  manifestOf,
  questionOf,
  runOf,
  sessionOf,
  createTenant,
  type StoreCase,
  storeCase,
} from "./harness.ts";

const wrapped = { id: "k1", wrapped: Uint8Array.of(1, 2, 3) };
const treeOf = (user: UserId | null): TreeId => TreeId.of(`tree-of-${user ?? "no-user"}`);

/** Something of every kind, each with the user's name in it. */
async function writeEverything(store: Store, tenant: Partition, user: UserId | null): Promise<void> {
  const treeId = treeOf(user);
  const sessionId = SessionId.of(`talk-of-${user ?? "no-user"}`);
  const talk = { id: sessionId, userId: user };
  const [lead, writer] = [RunId.of(treeId, 0), RunId.of(treeId, 1)];
  const word = `word-of-${user ?? "no-user"}`;
  await store.sessions.open(tenant, sessionOf({ ...talk, isNamed: false, title: word }));
  await store.sessions.append(tenant, talk, [
    entryOf("a", null, { text: word }),
    entryOf("h", "a", { branch: writer, text: word }),
  ]);
  await store.runs.put(tenant, runOf({ runId: lead, userId: user, sessionId }));
  await store.runs.put(tenant, runOf({ runId: writer, parentRunId: lead, userId: user, sessionId }));
  await store.events.append(tenant, treeId, [eventOf(1, word, treeId), eventOf(2, word, treeId)]);
  const [own, ofSession] = [MemoryOwner.user(user), MemoryOwner.session(talk)];
  await store.memory.remember(tenant, own, factOf("f", { value: word }), { terms: [word] });
  for (const owner of [own, ofSession])
    await store.memory.editBlock(tenant, owner, "human", blockEditOf("b", { text: word, terms: [word] }));
  const item = MemoryItem.episode(sessionId, EntryId.of("a"));
  await store.memory.index(tenant, own, [{ item, at: 1, terms: [word] }]);
  const vector = { item, embedder: "e", at: 1, vector: [1, 0] };
  for (const owner of [own, ofSession]) await store.vectors?.put(tenant, owner, [vector]);
  await store.approvals.request(tenant, questionOf(1, { runId: writer, arguments: word, why: word }));
  await store.manifests.put(tenant, manifestOf(1, { runId: writer, body: word }), [
    { hash: "h", text: word },
  ]);
  await store.keys.put(tenant, treeId, wrapped);
}

async function readExport(store: Store, tenant: Partition, user: UserId | null): Promise<UserRecord[]> {
  const records: UserRecord[] = [];
  for await (const record of exportUser(store, tenant, user)) records.push(record);
  return records;
}

const kinds = (records: readonly UserRecord[]): string[] => records.map(({ kind }) => kind).toSorted();

/** A store that seals keeps no vectors. */
const expectedKinds = ({ vectors }: Store): readonly string[] => [
  ..."approval block block entry entry event event fact index index index index".split(" "),
  ..."manifest run run session".split(" "),
  ...(vectors ? ["vector", "vector"] : []),
];

const talkOfAnn = { id: SessionId.of("talk-of-ann"), userId: ann };

export const userCases: readonly StoreCase[] = [
  storeCase("an export of a user has all data of that user and none of another", async (desk) => {
    const { store, tenant } = desk;
    const users = [ann, bob, null];
    for (const user of users) await writeEverything(store, tenant, user);
    for (const user of users) {
      const records = await readExport(store, tenant, user);
      assert.deepEqual(kinds(records), expectedKinds(store));
      const others = users.filter((other) => other !== user).map((other) => `-of-${other ?? "no-user"}`);
      for (const other of others) assert.ok(!JSON.stringify(records).includes(other), `found ${other}`);
    }
  }),

  storeCase("erasing a user leaves nothing of theirs and everything of the others", async (desk) => {
    const { store, tenant } = desk;
    const elsewhere = createTenant();
    for (const user of [ann, bob, null]) await writeEverything(store, tenant, user);
    await writeEverything(store, elsewhere, ann);
    await store.eraseUser(tenant, ann);
    await store.eraseUser(tenant, ann);
    assert.deepEqual(await readExport(store, tenant, ann), []);
    assert.deepEqual(await store.events.read(tenant, treeOf(ann), { after: 0, limit: 9 }), []);
    assert.deepEqual(await store.manifests.get(tenant, StepId.of(RunId.of(treeOf(ann), 1), "model", 1)), []);
    const texts = { hashes: ["h"], isPermanent: true };
    assert.deepEqual(await store.manifests.texts(tenant, treeOf(ann), texts), []);
    assert.equal((await store.manifests.texts(tenant, treeOf(bob), texts)).length, 1);
    assert.deepEqual(await store.sessions.entries(tenant, talkOfAnn, { after: null, limit: 9 }), []);
    assert.deepEqual(await store.sessions.path(tenant, talkOfAnn, { from: EntryId.of("a"), limit: 9 }), []);
    assert.equal((await store.approvals.list(tenant, {}, { size: 9 })).items.length, 2);
    await assert.rejects(store.keys.get(tenant, treeOf(ann)), { code: "key-destroyed" });
    for (const user of [bob, null]) {
      assert.deepEqual(kinds(await readExport(store, tenant, user)), expectedKinds(store));
      assert.deepEqual(await store.keys.get(tenant, treeOf(user)), wrapped);
    }
    assert.deepEqual(kinds(await readExport(store, elsewhere, ann)), expectedKinds(store));
  }),

  storeCase("a conversation longer than a page is exported whole, in order", async ({ store, tenant }) => {
    const entries = Array.from({ length: 450 }, (_, n) => entryOf(`e${n}`, n === 0 ? null : `e${n - 1}`));
    await store.sessions.open(tenant, sessionOf());
    await store.sessions.append(tenant, key, entries);
    const records = await readExport(store, tenant, ann);
    assert.deepEqual(
      records.flatMap((record) => (record.kind === "entry" ? [record.entry] : [])),
      entries,
    );
  }),
];
