import {
  listAll,
  RunId,
  StepManifest,
  type EntryId,
  type Fact,
  type Json,
  type ManifestRecord,
  type Partition,
  type RunRecord,
  type SessionEntry,
  type SessionId,
  type SessionKey,
  type Store,
  type TreeId,
  type UserId,
} from "#kernel";

const perRead = 100;
/** Levels of JSON quoting to search: a text is JSON, and may contain JSON as a string, such as the result of a tool. */
const maxQuotes = 3;

interface Place {
  readonly partition: Partition;
  readonly userId: UserId | null;
}

/** The parts of a runtime that erase values. */
interface ValueDeps {
  readonly store: Store;
  /** Returns the record of a root, also if the store does not have it yet. Undefined: there is none. */
  readonly findRoot: (tree: TreeId) => Promise<RunRecord | undefined>;
}

/**
 * Erases the values of facts from recorded steps, cached answers and approvals. Searches the trees that wrote the facts,
 * and all that the user has started since. Returns the conversations whose messages contain a value: they are kept.
 *
 * A running tree that knows a value may record it again.
 */
export async function eraseValues(
  { store, findRoot }: ValueDeps,
  { partition, userId }: Place,
  facts: readonly Fact[],
): Promise<readonly SessionId[]> {
  const needles = facts.flatMap(({ value }) => quotesOf(value));
  if (needles.length === 0) return [];
  const has = (text: string): boolean => needles.some((needle) => text.includes(needle));
  const since = Math.min(...facts.map(({ recordedAt }) => recordedAt));
  const filter = { userId, rootsOnly: true, since };
  const roots = new Map<TreeId, SessionId | null>();
  // The store may not list the run that has just written a fact.
  const writers = facts.flatMap(({ runId }) => runId ?? []);
  for (const tree of writers.map(RunId.tree)) roots.set(tree, (await findRoot(tree))?.sessionId ?? null);
  for await (const page of listAll((request) => store.runs.list(partition, filter, request)))
    for (const { treeId, sessionId } of page) roots.set(treeId, sessionId);
  for (const tree of roots.keys()) {
    const listed = (await store.runs.tree(partition, tree)).map(({ runId }) => runId);
    const own = writers.filter((run) => RunId.tree(run) === tree);
    await new TreeEraser(store, partition, tree, has).eraseIn([...new Set([...listed, ...own])]);
  }
  const told: SessionId[] = [];
  for (const id of new Set(roots.values()))
    if (id !== null && (await isIn(store, partition, { id, userId }, has))) told.push(id);
  return told;
}

/** Returns the ways in which JSON may write a value. */
function quotesOf(value: Json): readonly string[] {
  let text = typeof value === "string" ? value : JSON.stringify(value);
  const forms = [text];
  for (let quotes = 1; quotes <= maxQuotes; quotes += 1) {
    text = JSON.stringify(text).slice(1, -1);
    forms.push(text);
  }
  return [...new Set(forms)].filter((form) => form !== "");
}

/** Erases what contains a value in one tree. */
class TreeEraser {
  readonly #store: Store;
  readonly #partition: Partition;
  readonly #tree: TreeId;
  readonly #has: (text: string) => boolean;
  /** The texts searched so far: most appear in several prompts. */
  readonly #searched = new Set<string>();

  constructor(store: Store, partition: Partition, tree: TreeId, has: (text: string) => boolean) {
    this.#store = store;
    this.#partition = partition;
    this.#tree = tree;
    this.#has = has;
  }

  async eraseIn(runs: readonly RunId[]): Promise<void> {
    const { manifests, cache } = this.#store;
    const hashes = new Set<string>();
    for (const run of runs)
      for await (const page of listAll((request) => manifests.list(this.#partition, run, request)))
        for (const each of page) for (const hash of await this.#findTexts(each)) hashes.add(hash);
    await this.#eraseApprovals();
    if (hashes.size === 0) return;
    await cache.erase(this.#partition, this.#tree, { lasting: true });
    await manifests.eraseTexts(this.#partition, this.#tree, [...hashes]);
  }

  /** Returns the hashes of a manifest's texts that contain a value. */
  async #findTexts({ isPermanent, body }: ManifestRecord): Promise<readonly string[]> {
    if (body === null) return [];
    const { prompt, answer } = StepManifest.decode(body);
    const hashes = [...prompt, ...answer].flatMap(({ hash, notStored }) => {
      const place = `${hash} ${isPermanent}`;
      if (notStored !== undefined || this.#searched.has(place)) return [];
      this.#searched.add(place);
      return [hash];
    });
    const texts = await this.#store.manifests.texts(this.#partition, this.#tree, { hashes, isPermanent });
    return texts.filter(({ text }) => this.#has(text)).map(({ hash }) => hash);
  }

  async #eraseApprovals(): Promise<void> {
    const { approvals } = this.#store;
    const filter = { treeId: this.#tree };
    for await (const page of listAll((request) => approvals.list(this.#partition, filter, request)))
      if (page.some((each) => this.#has(JSON.stringify(each))))
        return approvals.erase(this.#partition, this.#tree);
  }
}

/** Whether any entry of a conversation contains a value. */
async function isIn(
  { sessions }: Store,
  partition: Partition,
  session: SessionKey,
  has: (text: string) => boolean,
): Promise<boolean> {
  for (let after: EntryId | null = null; ;) {
    const range = { after, limit: perRead };
    const entries: readonly SessionEntry[] = await sessions.entries(partition, session, range);
    if (entries.some((entry) => has(JSON.stringify(entry)))) return true;
    after = entries.at(-1)?.id ?? null;
    if (after === null) return false;
  }
}
