import { randomUUID } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  AgentId,
  ApprovalId,
  AttemptId,
  ChatMessage,
  EntryId,
  EventId,
  Labels,
  MemoryItem,
  MemoryOwner,
  RunId,
  SessionId,
  StepId,
  TreeId,
  type Partition,
  type Store,
} from "#kernel";

export const tree = TreeId.of("books");
export const session = { id: SessionId.of("talk"), userId: null };
export const anonymous = MemoryOwner.user(null);
const runId = RunId.root(tree);

const names = [
  "event",
  "title",
  "metadata",
  "message",
  "fact",
  "key",
  "term",
  "block",
  "block-term",
  "episode-term",
  "argument",
  "why",
  "answer",
  "audit",
  "manifest",
  "hash",
  "text",
  "cached",
];

/** Writes content of every kind, and returns the words that must not be readable. */
export async function speak(store: Store, tenant: Partition): Promise<Readonly<Record<string, string>>> {
  const word = Object.fromEntries(names.map((name) => [name, `${name}-${randomUUID()}`]));
  const said = (name: string): string => word[name] ?? "";
  const event = { eventId: EventId.of(runId, "1"), treeId: tree, runId, agent: AgentId.of("writer"), at: 1 };
  const trip = {
    type: "guardrail.trip",
    guardrail: "spelling",
    reason: said("event"),
    decision: "warn",
  } as const;
  await store.events.append(tenant, tree, [{ ...event, attempt: null, ...trip, seq: 1 }]);
  const head = { ...session, startedAt: 1, agentId: null, channel: null, isNamed: true };
  await store.sessions.open(tenant, { ...head, title: "", metadata: { note: said("metadata") } });
  await store.sessions.rename(tenant, session, said("title"));
  const entry = { id: EntryId.of("a"), parentId: null, at: 1, branch: null };
  const message = ChatMessage.user(said("message"));
  await store.sessions.append(tenant, session, [{ ...entry, type: "message", message }]);
  await rememberWords(store, tenant, said);
  const id = ApprovalId.of(StepId.of(runId, "tool", 1), 0);
  const asked = {
    id,
    treeId: tree,
    runId,
    agentId: AgentId.of("writer"),
    tool: "mail",
    risk: "high",
    hash: "h",
    requestedAt: 1,
    expiresAt: 9,
    spentMicros: 0,
  } as const;
  await store.approvals.request(tenant, { ...asked, arguments: { to: said("argument") }, why: said("why") });
  await store.approvals.decide(tenant, id, {
    decision: "edited",
    by: "lead",
    at: 2,
    arguments: said("answer"),
  });
  const link = { index: 0, at: 1, kind: "note", source: "books/1", keyId: "k", previous: "", hash: "h" };
  await store.audit.append(tenant, [{ ...link, data: said("audit") }]);
  const stepId = StepId.of(runId, "model", 1);
  const manifest = {
    runId,
    stepId,
    attempt: AttemptId.of("a"),
    at: 1,
    isPermanent: true,
    body: said("manifest"),
  };
  await store.manifests.put(tenant, manifest, [{ hash: said("hash"), text: said("text") }]);
  const cached = { key: "k", at: 1, until: 9, treeId: tree, userId: null, isPermanent: true };
  await store.cache.put(tenant, { ...cached, value: said("cached") }, { max: 9, maxBytes: 9_000 });
  return word;
}

async function rememberWords(
  { memory }: Store,
  tenant: Partition,
  said: (name: string) => string,
): Promise<void> {
  const write = { runId: null, labels: Labels.none };
  const fact = { id: "f", key: said("key"), value: said("fact"), validFrom: 1, validTo: null, recordedAt: 1 };
  await memory.remember(tenant, anonymous, { ...fact, ...write }, { terms: [said("term")] });
  const block = { id: "b", text: said("block"), version: 0, limit: 100, at: 1, terms: [said("block-term")] };
  await memory.editBlock(tenant, anonymous, "human", { ...block, ...write });
  const item = MemoryItem.episode(session.id, EntryId.of("a"));
  await memory.index(tenant, anonymous, [{ item, at: 1, terms: [said("episode-term")] }]);
}

/** Returns which of the words are readable in any file of a folder. */
export async function readable(
  folder: string,
  words: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const found = new Set<string>();
  for (const file of files) {
    const bytes = await readFile(join(file.parentPath, file.name)).catch(emptyIfMissing);
    for (const [name, word] of Object.entries(words)) if (bytes.includes(word)) found.add(name);
  }
  return [...found].toSorted();
}

/** Databases remove and replace their files during the search: a removed file holds no word. */
function emptyIfMissing(error: NodeJS.ErrnoException): Buffer {
  if (error.code === "ENOENT") return Buffer.alloc(0);
  throw error;
}
