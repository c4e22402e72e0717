import type { NumberedEvent } from "./event.ts";
import type { RunId, SessionId, TreeId, UserId } from "./ids.ts";
import { listAll } from "./list-all.ts";
import type { Page, PageRequest } from "./page.ts";
import type { Partition } from "./partition.ts";
import type { SessionEntry, SessionHead, SessionKey } from "./session.ts";
import type { ApprovalRecord } from "./approval.ts";
import type { MemoryVector } from "./embedder.ts";
import type { Fact, IndexEntry, MemoryOwner } from "./memory.ts";
import type { MemoryBlock } from "./memory-block.ts";
import type { ManifestRecord, RunRecord, Store } from "./store.ts";

/** One stored item of a user's data. */
export type UserRecord =
  | { readonly kind: "fact"; readonly owner: MemoryOwner; readonly fact: Fact }
  | { readonly kind: "block"; readonly owner: MemoryOwner; readonly block: MemoryBlock }
  | { readonly kind: "index"; readonly owner: MemoryOwner; readonly entry: IndexEntry }
  | { readonly kind: "vector"; readonly owner: MemoryOwner; readonly vector: MemoryVector }
  | { readonly kind: "session"; readonly session: SessionHead }
  | { readonly kind: "entry"; readonly session: SessionId; readonly entry: SessionEntry }
  | { readonly kind: "run"; readonly run: RunRecord }
  | { readonly kind: "manifest"; readonly manifest: ManifestRecord }
  | { readonly kind: "event"; readonly event: NumberedEvent }
  | { readonly kind: "approval"; readonly approval: ApprovalRecord };

const size = 200;

/** Yields everything that {@link Store.eraseUser} would remove, except keys and cache copies, one item at a time. */
export async function* exportUser(
  store: Store,
  partition: Partition,
  user: UserId | null,
): AsyncIterable<UserRecord> {
  for (const owner of await store.memory.owners(partition, user)) yield* memoryOf(store, partition, owner);
  const sessions = pages((page) => store.sessions.list(partition, { userId: user, unnamed: true }, page));
  for await (const session of sessions) {
    yield { kind: "session", session };
    yield* exportEntries(store, partition, session);
  }
  for await (const run of pages((page) => store.runs.list(partition, { userId: user }, page))) {
    yield { kind: "run", run };
    yield* manifestsOf(store, partition, run.runId);
    if (run.parentRunId === null) yield* exportTree(store, partition, run.treeId);
  }
}

async function* memoryOf(store: Store, partition: Partition, owner: MemoryOwner): AsyncIterable<UserRecord> {
  const { memory, vectors } = store;
  for (const fact of await memory.recall(partition, owner, {})) yield { kind: "fact", owner, fact };
  for (const block of await memory.blocks(partition, owner)) yield { kind: "block", owner, block };
  const entries = readPages<IndexEntry>((last) =>
    memory.listIndexed(partition, owner, { after: last?.item ?? null, limit: size }),
  );
  for await (const entry of entries) yield { kind: "index", owner, entry };
  if (!vectors) return;
  const kept = readPages<MemoryVector>((after) => vectors.list(partition, owner, { after, limit: size }));
  for await (const vector of kept) yield { kind: "vector", owner, vector };
}

/** Reads all pages, each after the last entry of the previous one. */
async function* readPages<Entry>(
  list: (last: Entry | null) => Promise<readonly Entry[]>,
): AsyncIterable<Entry> {
  let entries = await list(null);
  while (entries.length > 0) {
    yield* entries;
    entries = await list(entries.at(-1) ?? null);
  }
}

async function* exportEntries(
  store: Store,
  partition: Partition,
  session: SessionKey,
): AsyncIterable<UserRecord> {
  let entries: readonly SessionEntry[] = [];
  do {
    entries = await store.sessions.entries(partition, session, {
      after: entries.at(-1)?.id ?? null,
      limit: size,
    });
    for (const entry of entries) yield { kind: "entry", session: session.id, entry };
  } while (entries.length === size);
}

async function* manifestsOf(store: Store, partition: Partition, run: RunId): AsyncIterable<UserRecord> {
  for await (const manifest of pages((page) => store.manifests.list(partition, run, page)))
    yield { kind: "manifest", manifest };
}

async function* exportTree(store: Store, partition: Partition, treeId: TreeId): AsyncIterable<UserRecord> {
  let events: readonly NumberedEvent[] = [];
  do {
    events = await store.events.read(partition, treeId, { after: events.at(-1)?.seq ?? 0, limit: size });
    for (const event of events) yield { kind: "event", event };
  } while (events.length === size);
  for await (const approval of pages((page) => store.approvals.list(partition, { treeId }, page)))
    yield { kind: "approval", approval };
}

async function* pages<Item>(list: (page: PageRequest) => Promise<Page<Item>>): AsyncIterable<Item> {
  for await (const items of listAll(list, size)) yield* items;
}
