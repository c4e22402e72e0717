// The content of steps: reads manifests and texts, and rebuilds prompts.
//
// Job: list the steps of a run, and show the exact prompt and response of one of them. Neighbours: `step-manifest` of
// the run layer writes manifests; the store opens what it has sealed, and has no body for a manifest whose key was
// destroyed.
//
// Invariants:
// 1. Content is shown only if its hash equals that of the part: a changed entry counts as missing.
// 2. A prompt is equal if the hash over its parts, as read, is the hash of the sent prompt. An ephemeral part counts
//    with the hash recorded when it was sent.
// 3. Every step that the events name is listed. One without a manifest is listed as not recorded.
import { createHash, hash } from "node:crypto";
import {
  Json,
  NotFoundError,
  Partition,
  RunId,
  StepId,
  StepManifest,
  type EntryId,
  type ManifestPart,
  type ManifestRecord,
  type Page,
  type PageRequest,
  type SessionEntry,
  type Store,
} from "#kernel";
import { nameFiles } from "#run";
import { listUnrecorded, type StepSummary } from "./unrecorded-steps.ts";

/** A part with its content. */
interface ShownPart extends ManifestPart {
  /** A message, the descriptions of tools, or the input or result of a tool. Null: missing. */
  readonly content: Json;
  readonly missing?: "erased" | "not-stored" | undefined;
}

/** A step with its content. */
export interface StepPrompt extends StepSummary {
  readonly prompt: readonly ShownPart[];
  readonly answer: readonly ShownPart[];
  /** Whether the prompt is equal to the sent one, except for ephemeral parts. */
  readonly isEqual: boolean;
}

interface StepQuery {
  /** Default: the partition without a tenant. */
  readonly tenant?: string;
}

/** Lists the steps of a run, oldest first, without content. Those without a manifest are on the last page. */
export async function listSteps(
  store: Store,
  run: RunId,
  { tenant, ...page }: StepQuery & PageRequest,
): Promise<Page<StepSummary>> {
  const partition = Partition.of(tenant);
  const { items, next } = await store.manifests.list(partition, run, page);
  const listed = items.map(summarize);
  if (next !== null) return { items: listed, next };
  return { items: [...listed, ...(await listUnrecorded(store, partition, run))], next };
}

/**
 * Rebuilds the prompt of a step from entries and texts, for the newest attempt that has a manifest.
 *
 * @throws NotFoundError if there is no such step.
 */
export async function readStep(store: Store, step: StepId, { tenant }: StepQuery = {}): Promise<StepPrompt> {
  const partition = Partition.of(tenant);
  const recorded = await readRecorded(store, partition, step);
  if (recorded) return recorded;
  const unrecorded = await listUnrecorded(store, partition, StepId.run(step));
  const found = unrecorded.find(({ stepId }) => stepId === step);
  if (!found) throw new NotFoundError({ what: "step", id: step });
  return { ...found, prompt: [], answer: [], isEqual: false };
}

/** Rebuilds the prompt of a step that has a manifest. Null: it has none. */
export async function readRecorded(
  store: Store,
  partition: Partition,
  step: StepId,
): Promise<StepPrompt | null> {
  const record = (await store.manifests.get(partition, step)).at(-1);
  if (!record) return null;
  const summary = summarize(record);
  if (!summary.manifest) return { ...summary, prompt: [], answer: [], isEqual: false };
  const reader = new PartReader(store, partition, record, summary.manifest);
  const parts = await promptParts(store, partition, summary.manifest);
  const prompt = await reader.read(parts ?? summary.manifest.prompt);
  const answer = await reader.read(summary.manifest.answer);
  const { base: _, ...manifest } = summary.manifest;
  const isEqual = parts !== null && isSent(prompt, manifest.promptHash);
  return { ...summary, manifest: { ...manifest, prompt: parts ?? manifest.prompt }, prompt, answer, isEqual };
}

function summarize({ runId, stepId, attempt, at, body }: ManifestRecord): StepSummary {
  const base = { runId, stepId, attempt, at };
  if (body === null) return { ...base, content: "erased", manifest: null };
  return { ...base, content: "recorded", manifest: StepManifest.decode(body) };
}

/** Returns all parts of a prompt. Null if one of its base manifests is gone. */
async function promptParts(
  store: Store,
  partition: Partition,
  { prompt, base }: StepManifest,
): Promise<readonly ManifestPart[] | null> {
  if (!base) return prompt;
  const found = await store.manifests.get(partition, base.step);
  const body = found.find(({ attempt }) => attempt === base.attempt)?.body ?? null;
  if (body === null) return null;
  const before = await promptParts(store, partition, StepManifest.decode(body));
  return before && [...before.slice(0, base.parts), ...prompt];
}

/** Reads the content of the parts of one manifest. */
class PartReader {
  readonly #store: Store;
  readonly #partition: Partition;
  readonly #record: ManifestRecord;
  readonly #session: StepManifest["session"];

  constructor(store: Store, partition: Partition, record: ManifestRecord, { session }: StepManifest) {
    this.#store = store;
    this.#partition = partition;
    this.#record = record;
    this.#session = session;
  }

  async read(parts: readonly ManifestPart[]): Promise<readonly ShownPart[]> {
    const entries = await this.#readEntries(parts.flatMap(({ entry }) => entry ?? []));
    const contents = parts.map((part) => contentOfEntry(part, entries));
    const wanted = parts.filter((part, index) => contents[index] === null && part.notStored === undefined);
    const texts = await this.#readTexts(wanted.map((part) => part.hash));
    return parts.map((part, index): ShownPart => {
      const content = contents[index] ?? texts.get(part.hash) ?? null;
      if (content !== null) return { ...part, content };
      return { ...part, content: null, missing: part.notStored === undefined ? "erased" : "not-stored" };
    });
  }

  async #readTexts(hashes: readonly string[]): Promise<ReadonlyMap<string, Json>> {
    if (hashes.length === 0) return new Map();
    const { runId, isPermanent } = this.#record;
    const query = { hashes: [...new Set(hashes)], isPermanent };
    const found = await this.#store.manifests.texts(this.#partition, RunId.tree(runId), query);
    const whole = found.filter((each) => hashText(each.text) === each.hash);
    return new Map(whole.map((each) => [each.hash, Json.of(JSON.parse(each.text))]));
  }

  /** Reads entries. Most entries of a prompt are on one path, which is read in one call; the rest one by one. */
  async #readEntries(ids: readonly EntryId[]): Promise<ReadonlyMap<EntryId, SessionEntry>> {
    const entries = new Map<EntryId, SessionEntry>();
    const session = this.#session;
    if (!session) return entries;
    for (const id of ids.toReversed()) {
      if (entries.has(id)) continue;
      const limit = entries.size === 0 ? ids.length * 2 : 1;
      const range = { from: id, limit };
      for (const entry of await this.#store.sessions.path(this.#partition, session, range))
        entries.set(entry.id, entry);
    }
    return entries;
  }
}

function contentOfEntry(part: ManifestPart, entries: ReadonlyMap<EntryId, SessionEntry>): Json {
  const entry = part.entry === undefined ? undefined : entries.get(part.entry);
  if (entry?.type !== "message") return null;
  const shown = [entry.message, nameFiles(entry.message)].map(Json.of);
  return shown.find((content) => hashText(JSON.stringify(content)) === part.hash) ?? null;
}

function isSent(parts: readonly ShownPart[], promptHash: string): boolean {
  if (parts.some(({ missing, notStored }) => missing && notStored !== "ephemeral")) return false;
  const sum = createHash("sha256");
  for (const part of parts) sum.update(part.hash);
  return sum.digest("base64url") === promptHash;
}

const hashText = (text: string): string => hash("sha256", text, "base64url");
