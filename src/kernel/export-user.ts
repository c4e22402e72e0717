import type { NumberedEvent } from "./event.ts";
import type { RunId, SessionId, TreeId, UserId } from "./ids.ts";
import type { Page } from "./page.ts";
import type { Partition } from "./partition.ts";
import type { SessionEntry, SessionHead } from "./session.ts";
import type { ApprovalRecord } from "./approval.ts";
import type { Fact, PromptManifest, RunRecord, Store } from "./store.ts";

/** One thing that is kept of a user. */
export type UserRecord =
  | { readonly kind: "fact"; readonly fact: Fact }
  | { readonly kind: "session"; readonly session: SessionHead }
  | { readonly kind: "entry"; readonly session: SessionId; readonly entry: SessionEntry }
  | { readonly kind: "run"; readonly run: RunRecord }
  | { readonly kind: "manifest"; readonly manifest: PromptManifest }
  | { readonly kind: "event"; readonly event: NumberedEvent }
  | { readonly kind: "approval"; readonly approval: ApprovalRecord };

const size = 200;

/** Everything that {@link Store.eraseUser} would remove, but for the keys, a piece at a time. */
export async function* exportUser(
  store: Store,
  partition: Partition,
  user: UserId | null,
): AsyncIterable<UserRecord> {
  for (const fact of await store.memory.recall(partition, user, {})) yield { kind: "fact", fact };
  const sessions = pages((page) => store.sessions.list(partition, { userId: user }, page));
  for await (const session of sessions) {
    yield { kind: "session", session };
    yield* entriesOf(store, partition, session.id);
  }
  for await (const run of pages((page) => store.runs.list(partition, { userId: user }, page))) {
    yield { kind: "run", run };
    yield* manifestsOf(store, partition, run.runId);
    if (run.parentRunId === null) yield* treeOf(store, partition, run.treeId);
  }
}

async function* entriesOf(store: Store, partition: Partition, session: SessionId): AsyncIterable<UserRecord> {
  let entries: readonly SessionEntry[] = [];
  do {
    entries = await store.sessions.entries(partition, session, entries.at(-1)?.id ?? null, size);
    for (const entry of entries) yield { kind: "entry", session, entry };
  } while (entries.length === size);
}

async function* manifestsOf(store: Store, partition: Partition, run: RunId): AsyncIterable<UserRecord> {
  for (const manifest of await store.manifests.list(partition, run)) yield { kind: "manifest", manifest };
}

async function* treeOf(store: Store, partition: Partition, treeId: TreeId): AsyncIterable<UserRecord> {
  let events: readonly NumberedEvent[] = [];
  do {
    events = await store.events.read(partition, treeId, events.at(-1)?.seq ?? 0, size);
    for (const event of events) yield { kind: "event", event };
  } while (events.length === size);
  for await (const approval of pages((page) => store.approvals.list(partition, { treeId }, page)))
    yield { kind: "approval", approval };
}

async function* pages<Item>(
  list: (page: { readonly size: number; readonly after?: string }) => Promise<Page<Item>>,
): AsyncIterable<Item> {
  let page = await list({ size });
  yield* page.items;
  while (page.next !== null) {
    page = await list({ size, after: page.next });
    yield* page.items;
  }
}
