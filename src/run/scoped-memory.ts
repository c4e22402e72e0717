import {
  ChatMessage,
  Labels,
  MemoryOwner,
  toTerms,
  type BlockDraft,
  type BlockEditResult,
  type BlockReceipt,
  type Clock,
  type EntryId,
  type Fact,
  type FactDraft,
  type FactQuery,
  type ForgetRequest,
  type FoundMemory,
  type IndexEntry,
  type MemoryBlock,
  type MemoryHit,
  type MemoryItem,
  type MemorySearch,
  type MemorySharing,
  type Partition,
  type RunId,
  type RunMemory,
  type RunScope,
  type SessionEntry,
  type SessionId,
  type Store,
  type TenantId,
  type UserId,
} from "#kernel";

/** Entries of a turn that are read at once. */
const pageSize = 64;

/** The reach of a {@link ScopedMemory}, and what it adds to writes. */
interface MemoryScope {
  readonly tenantId: TenantId | null;
  readonly userId: UserId | null;
  /** Null: nothing of a session can be reached. */
  readonly sessionId: SessionId | null;
  /** Null: no run writes. */
  readonly runId: RunId | null;
  readonly now: () => number;
  /** Returns the labels of the writer. */
  readonly labels: () => Labels;
}

/**
 * The memory of one tenant, user and session. Owners come from the scope alone, so no argument of a model can name
 * another one. It notes the labels of everything that was read: its opener joins them to those of the run.
 */
export class ScopedMemory implements RunMemory {
  readonly #store: Store;
  readonly #scope: MemoryScope;
  readonly #partition: Partition;
  readonly #user: MemoryOwner;
  #seen: Labels = Labels.none;

  constructor(store: Store, scope: MemoryScope) {
    this.#store = store;
    this.#scope = scope;
    this.#partition = { tenantId: scope.tenantId };
    this.#user = MemoryOwner.user(scope.userId);
  }

  /** The labels of everything that was read so far. */
  get seen(): Labels {
    return this.#seen;
  }

  async facts(query: FactQuery): Promise<readonly Fact[]> {
    const facts = await this.#store.memory.recall(this.#partition, this.#user, query);
    for (const { labels } of facts) this.#see(labels);
    return facts;
  }

  async remember({ id, key, value }: FactDraft): Promise<void> {
    const { runId, now } = this.#scope;
    const at = now();
    const held = { validFrom: at, validTo: null, recordedAt: at };
    const fact: Fact = { id, key, value, ...held, runId, labels: this.#ownLabels() };
    const text = `${key} ${typeof value === "string" ? value : JSON.stringify(value)}`;
    await this.#store.memory.remember(this.#partition, this.#user, fact, toTerms(text));
  }

  forget(request: ForgetRequest): Promise<readonly MemoryItem[]> {
    return this.#store.memory.forget(this.#partition, this.#user, request);
  }

  async block(name: string, sharing: MemorySharing): Promise<MemoryBlock | null> {
    const block = await this.#store.memory.block(this.#partition, this.#ownerOf(sharing), name);
    this.#see(block?.labels);
    return block;
  }

  findEdit(sharing: MemorySharing, id: string): Promise<BlockReceipt | null> {
    return this.#store.memory.findEdit(this.#partition, this.#ownerOf(sharing), id);
  }

  async editBlock(name: string, sharing: MemorySharing, draft: BlockDraft): Promise<BlockEditResult> {
    const { runId, now } = this.#scope;
    const edit = { ...draft, at: now(), runId, labels: this.#ownLabels(), terms: toTerms(draft.text) };
    const result = await this.#store.memory.editBlock(this.#partition, this.#ownerOf(sharing), name, edit);
    if (result.outcome === "conflict") this.#see(result.present?.labels);
    return result;
  }

  async search({ text, kinds, limit }: MemorySearch): Promise<readonly FoundMemory[]> {
    const query = { terms: toTerms(text), kinds, limit, at: this.#scope.now() };
    const hits = await this.#store.memory.search(this.#partition, this.#user, query);
    const ids = hits.flatMap(({ item }) => (item.kind === "fact" ? [item.id] : []));
    const facts = new Map((ids.length > 0 ? await this.facts({ ids }) : []).map((fact) => [fact.id, fact]));
    const found = await Promise.all(hits.map((hit) => this.#open(hit, facts)));
    return found.flatMap((each) => each ?? []);
  }

  index(entries: readonly IndexEntry[]): Promise<void> {
    return this.#store.memory.index(this.#partition, this.#user, entries);
  }

  /** Reads the entries of the session from one to a later one, oldest first. None, if the first is not before the last. */
  async readTurn(first: EntryId, last: EntryId): Promise<readonly SessionEntry[]> {
    const { sessionId: id, userId } = this.#scope;
    const entries: SessionEntry[] = [];
    if (id === null) return [];
    let from: EntryId | null | undefined = last;
    while (from) {
      const range = { from, limit: pageSize };
      const page = await this.#store.sessions.path(this.#partition, { id, userId }, range);
      const end = page.findIndex((entry) => entry.id === first);
      entries.push(...(end === -1 ? page : page.slice(0, end + 1)));
      if (end !== -1) return entries.toReversed();
      from = page.at(-1)?.parentId;
    }
    return [];
  }

  /** Null: it was erased after it was found. */
  async #open({ item }: MemoryHit, facts: ReadonlyMap<string, Fact>): Promise<FoundMemory | null> {
    if (item.kind === "block") return null;
    if (item.kind === "fact") {
      const fact = facts.get(item.id);
      return fact ? { kind: "fact", fact } : null;
    }
    const { session, entry: from } = item;
    const key = { id: session, userId: this.#scope.userId };
    const [entry] = await this.#store.sessions.path(this.#partition, key, { from, limit: 1 });
    if (entry?.type !== "message") return null;
    this.#see(entry.labels);
    const { message, at } = entry;
    const text = ChatMessage.text(message);
    return { kind: "episode", episode: { session, entry: from, at, role: message.role, text } };
  }

  #ownerOf(sharing: MemorySharing): MemoryOwner {
    if (sharing === "user") return this.#user;
    if (sharing === "tenant") return MemoryOwner.tenant;
    const { sessionId: id, userId } = this.#scope;
    if (id === null)
      throw new TypeError('a section that is kept cannot read memory of a session: give it keep: "turn"');
    return MemoryOwner.session({ id, userId });
  }

  /** The labels of a write: the writer may have read here what it writes. */
  #ownLabels(): Labels {
    return Labels.join(this.#scope.labels(), this.#seen);
  }

  #see(labels: Labels | undefined): void {
    this.#seen = Labels.join(this.#seen, labels);
  }
}

/** The run whose memory is opened. */
interface MemoryReader {
  readonly scope: RunScope;
  readonly labels: { readonly now: Labels };
  readonly clock: Clock;
}

/** Returns what opens the memory that a run can reach; it opens null without a store. */
export function createOpenMemory(
  store: Store | null,
  { scope, labels, clock }: MemoryReader,
): (session: SessionId | null) => ScopedMemory | null {
  const means = { now: () => clock.now(), labels: () => labels.now };
  return (sessionId) => store && new ScopedMemory(store, { ...scope, ...means, sessionId });
}
