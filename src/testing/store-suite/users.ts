import assert from "node:assert/strict";
import { EntryId, exportUser, type Partition, RunId, SessionId, StepId, type Store } from "#kernel";
import { TreeId, type UserId, type UserRecord } from "#kernel";
import {
  ann,
  bob,
  entryOf,
  eventOf,
  questionOf,
  runOf,
  someTenant,
  type StoreCase,
  storeCase,
} from "./harness.ts";

const wrapped = { id: "k1", wrapped: Uint8Array.of(1, 2, 3) };
const treeOf = (user: UserId | null): TreeId => TreeId.of(`tree-of-${user ?? "nobody"}`);

/** Something of every kind, each with the user's name in it. */
async function live(store: Store, tenant: Partition, user: UserId | null): Promise<void> {
  const treeId = treeOf(user);
  const sessionId = SessionId.of(`talk-of-${user ?? "nobody"}`);
  const [boss, helper] = [RunId.of(treeId, 0), RunId.of(treeId, 1)];
  const word = `word-of-${user ?? "nobody"}`;
  await store.sessions.open(tenant, { id: sessionId, userId: user, startedAt: 1 });
  await store.sessions.append(tenant, sessionId, [
    entryOf("a", null, { text: word }),
    entryOf("h", "a", { branch: helper, text: word }),
  ]);
  await store.runs.put(tenant, runOf({ runId: boss, userId: user, sessionId }));
  await store.runs.put(tenant, runOf({ runId: helper, parentRunId: boss, userId: user, sessionId }));
  await store.events.append(tenant, treeId, [eventOf(1, word, treeId), eventOf(2, word, treeId)]);
  await store.memory.remember(tenant, user, { key: "k", value: word, validFrom: 1, validTo: null });
  await store.approvals.request(tenant, questionOf(1, { runId: helper, arguments: word, why: word }));
  await store.manifests.put(tenant, {
    runId: helper,
    stepId: StepId.of(helper, "model", 1),
    at: 1,
    parts: word,
  });
  await store.keys.put(tenant, treeId, wrapped);
}

async function exported(store: Store, tenant: Partition, user: UserId | null): Promise<UserRecord[]> {
  const records: UserRecord[] = [];
  for await (const record of exportUser(store, tenant, user)) records.push(record);
  return records;
}

const kinds = (records: readonly UserRecord[]): string[] => records.map(({ kind }) => kind).toSorted();

const whole = ["approval", "entry", "entry", "event", "event", "fact", "manifest", "run", "run", "session"];

export const userCases: readonly StoreCase[] = [
  storeCase("an export of a user has everything of theirs and nothing of anybody else", async (desk) => {
    const { store, tenant } = desk;
    const users = [ann, bob, null];
    for (const user of users) await live(store, tenant, user);
    for (const user of users) {
      const records = await exported(store, tenant, user);
      assert.deepEqual(kinds(records), whole);
      const others = users.filter((other) => other !== user).map((other) => `-of-${other ?? "nobody"}`);
      for (const other of others) assert.ok(!JSON.stringify(records).includes(other), `found ${other}`);
    }
  }),

  storeCase("erasing a user leaves nothing of theirs and everything of the others", async (desk) => {
    const { store, tenant } = desk;
    const elsewhere = someTenant();
    for (const user of [ann, bob, null]) await live(store, tenant, user);
    await live(store, elsewhere, ann);
    await store.eraseUser(tenant, ann);
    await store.eraseUser(tenant, ann);
    assert.deepEqual(await exported(store, tenant, ann), []);
    assert.deepEqual(await store.events.read(tenant, treeOf(ann), 0, 9), []);
    assert.equal(await store.manifests.get(tenant, StepId.of(RunId.of(treeOf(ann), 1), "model", 1)), null);
    assert.deepEqual(await store.sessions.entries(tenant, SessionId.of("talk-of-ann"), null, 9), []);
    assert.deepEqual(await store.sessions.path(tenant, SessionId.of("talk-of-ann"), EntryId.of("a"), 9), []);
    assert.equal((await store.approvals.list(tenant, {}, { size: 9 })).items.length, 2);
    await assert.rejects(store.keys.get(tenant, treeOf(ann)), { code: "key-destroyed" });
    for (const user of [bob, null]) {
      assert.deepEqual(kinds(await exported(store, tenant, user)), whole);
      assert.deepEqual(await store.keys.get(tenant, treeOf(user)), wrapped);
    }
    assert.deepEqual(kinds(await exported(store, elsewhere, ann)), whole);
  }),

  storeCase("a conversation longer than a page is exported whole, in order", async ({ store, tenant }) => {
    const id = SessionId.of("long");
    const entries = Array.from({ length: 450 }, (_, n) => entryOf(`e${n}`, n === 0 ? null : `e${n - 1}`));
    await store.sessions.open(tenant, { id, userId: ann, startedAt: 1 });
    await store.sessions.append(tenant, id, entries);
    const records = await exported(store, tenant, ann);
    assert.deepEqual(
      records.flatMap((record) => (record.kind === "entry" ? [record.entry] : [])),
      entries,
    );
  }),
];
