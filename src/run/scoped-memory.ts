import { hash } from "node:crypto";
import {
  ChatMessage,
  Labels,
  MemoryItem,
  MemoryOwner,
  toLine,
  toTerms,
  type BlockDraft,
  type BlockEditResult,
  type BlockReceipt,
  type Clock,
  type Embedder,
  type EntryId,
  type Fact,
  type FactDraft,
  type FactQuery,
  type ForgetRequest,
  type FoundMemory,
  type IndexedText,
  type MemoryBlock,
  type MemoryHit,
  type MemorySearch,
  type MemorySharing,
  type MemoryVector,
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
import { valueText } from "#base";

/** Number of entries of a turn that are read together. */
const pageSize = 64;
/** Maximum characters of a text for an embedder. Models take about 8,000 tokens, which may be as few characters. */
const maxEmbedded = 8_000;

/** Converts texts to vectors. Null: it failed and was reported. @throws if the step must end. */
export type EmbedTexts = (
  embedder: Embedder,
  texts: readonly string[],
) => Promise<readonly (readonly number[])[] | null>;

/** The owners that a {@link ScopedMemory} can reach, and the fields it adds to writes. */
interface MemoryScope {
  readonly tenantId: TenantId | null;
  readonly userId: UserId | null;
  /** Null: no memory of a session can be reached. */
  readonly sessionId: SessionId | null;
  /** Null: no run writes. */
  readonly runId: RunId | null;
  readonly now: () => number;
  /** Returns the labels of the writer. */
  readonly labels: () => Labels;
  /** Null: no call can be charged here. */
  readonly embed: EmbedTexts | null;
}

/** A text that was searched for, with its vector. */
interface MeaningQuery {
  readonly text: string;
  readonly embedder: Embedder;
  /** Null: it could not be computed. */
  readonly vector: readonly number[] | null;
}

/**
 * The memory of one tenant, user and session. Owners come only from the scope, so no argument of a model can name
 * another one. It collects the labels of everything that was read; its opener joins them to those of the run.
 */
export class ScopedMemory implements RunMemory {
  readonly #store: Store;
  readonly #scope: MemoryScope;
  readonly #partition: Partition;
  readonly #user: MemoryOwner;
  #seen: Labels = Labels.none;
  #lacksVectors = false;
  /** The last search by meaning. */
  #asked: MeaningQuery | null = null;

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

  /** Whether an embedder was given although none can be called. */
  get lacksVectors(): boolean {
    return this.#lacksVectors;
  }

  async facts(query: FactQuery): Promise<readonly Fact[]> {
    const { key, ...rest } = query;
    const cleaned = { ...rest, ...(key !== undefined && { key: toLine(key) }) };
    const facts = await this.#store.memory.recall(this.#partition, this.#user, cleaned);
    for (const { labels } of facts) this.#see(labels);
    return facts;
  }

  /** Remembers a fact. A model chose the key. */
  async remember({ id, value, ...draft }: FactDraft, embedder?: Embedder): Promise<void> {
    const key = toLine(draft.key);
    const { runId, now } = this.#scope;
    const at = now();
    const held = { validFrom: at, validTo: null, recordedAt: at };
    const fact: Fact = { id, key, value, ...held, runId, labels: this.#ownLabels() };
    const text = `${key} ${valueText(value)}`;
    const item = MemoryItem.fact(id);
    const vectors = embedder ? await this.#embed(embedder, [{ item, at, text }]) : [];
    await this.#store.memory.remember(this.#partition, this.#user, fact, { terms: toTerms(text) });
    await this.#putVectors(vectors);
  }

  forget(request: ForgetRequest): Promise<readonly MemoryItem[]> {
    const cleaned = "key" in request ? { ...request, key: toLine(request.key) } : request;
    return this.#store.memory.forget(this.#partition, this.#user, cleaned);
  }

  async block(name: string, sharing: MemorySharing): Promise<MemoryBlock | null> {
    const block = await this.#store.memory.block(this.#partition, this.#ownerOf(sharing), name);
    this.#seeBlock(block);
    return block;
  }

  findEdit(sharing: MemorySharing, id: string): Promise<BlockReceipt | null> {
    return this.#store.memory.findEdit(this.#partition, this.#ownerOf(sharing), id);
  }

  async editBlock(name: string, sharing: MemorySharing, draft: BlockDraft): Promise<BlockEditResult> {
    const { runId, now } = this.#scope;
    const own = { runId, labels: this.#ownLabels(), author: this.#author };
    const edit = { ...draft, ...own, at: now(), terms: toTerms(draft.text) };
    const result = await this.#store.memory.editBlock(this.#partition, this.#ownerOf(sharing), name, edit);
    if (result.outcome === "conflict") this.#seeBlock(result.present);
    return result;
  }

  async search({ text, kinds, limit, embedder }: MemorySearch): Promise<readonly FoundMemory[]> {
    const at = this.#scope.now();
    const byWords = await this.#store.memory.search(this.#partition, this.#user, {
      terms: toTerms(text),
      kinds,
      limit,
      at,
    });
    const byMeaning = embedder ? await this.#searchVectors(embedder, text, { kinds, limit }) : [];
    const hits = joinRankings([byWords, byMeaning]).slice(0, limit);
    const ids = hits.flatMap(({ item }) => (item.kind === "fact" ? [item.id] : []));
    // A vector does not know how long its fact is valid.
    const facts = new Map(
      (ids.length > 0 ? await this.facts({ ids, at }) : []).map((fact) => [fact.id, fact]),
    );
    const found = await Promise.all(hits.map((hit) => this.#open(hit, facts)));
    return found.flatMap((each) => each ?? []);
  }

  async index(texts: readonly IndexedText[], embedder?: Embedder): Promise<void> {
    const entries = texts.flatMap(({ item, at, text }) => {
      const terms = toTerms(text);
      return terms.length === 0 ? [] : [{ item, at, terms }];
    });
    if (entries.length > 0) await this.#store.memory.index(this.#partition, this.#user, entries);
    if (embedder) await this.#putVectors(await this.#embed(embedder, texts));
  }

  /**
   * Reads the entries of the session from one to a later one, oldest first. Empty if the first is not before the last.
   */
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

  async #putVectors(vectors: readonly MemoryVector[]): Promise<void> {
    if (vectors.length > 0) await this.#store.vectors?.put(this.#partition, this.#user, vectors);
  }

  async #searchVectors(
    embedder: Embedder,
    text: string,
    range: Pick<MemorySearch, "kinds" | "limit">,
  ): Promise<readonly MemoryHit[]> {
    // Facts and episodes are searched one after the other, for the same text.
    if (this.#asked?.text !== text || this.#asked.embedder !== embedder) {
      const [made] = await this.#embed(embedder, [{ item: MemoryItem.fact(""), at: 0, text }]);
      this.#asked = { text, embedder, vector: made?.vector ?? null };
    }
    const { vector } = this.#asked;
    if (!vector || !this.#store.vectors) return [];
    const query = { embedder: embedder.id, vector, ...range };
    return this.#store.vectors.search(this.#partition, this.#user, query);
  }

  /** Computes the vectors of texts that are not blank. Empty if no call can be made, or it failed. */
  async #embed(embedder: Embedder, texts: readonly IndexedText[]): Promise<readonly MemoryVector[]> {
    const told = texts.filter(({ text }) => text.trim() !== "");
    if (told.length === 0) return [];
    const { embed } = this.#scope;
    this.#lacksVectors ||= !embed;
    if (!embed) return [];
    if (!this.#store.vectors)
      throw new TypeError("an embedder needs a store that keeps vectors: createRuntime({ vectors })");
    const made = await embed(
      embedder,
      told.map(({ text }) => text.slice(0, maxEmbedded)),
    );
    return told.flatMap(({ item, at }, index) => {
      const vector = made?.[index];
      return vector ? [{ item, embedder: embedder.id, at, vector }] : [];
    });
  }

  /** Opens a hit. Null: it was erased after it was found. */
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
      throw new TypeError('a cached section cannot read memory of a session: set keep: "turn"');
    return MemoryOwner.session({ id, userId });
  }

  /** Returns the labels of a write: the writer may have read here what it writes. */
  #ownLabels(): Labels {
    return Labels.join(this.#scope.labels(), this.#seen);
  }

  /** Notes that a block was read. One that another user's run has edited is untrusted: that run trusted its own user. */
  #seeBlock(block: MemoryBlock | null): void {
    this.#see(block?.labels);
    const { authors = [] } = block ?? {};
    if (authors.some((author) => author !== this.#author)) this.#see(Labels.of({ untrusted: true }));
  }

  /** The mark of the user. A hash, so that what is shared holds no id of a user. Null: no user. */
  get #author(): string | null {
    const { tenantId, userId } = this.#scope;
    return userId && hash("sha256", JSON.stringify([tenantId, userId]), "base64url").slice(0, 22);
  }

  #see(labels: Labels | undefined): void {
    this.#seen = Labels.join(this.#seen, labels);
  }
}

/** Constant of reciprocal rank fusion, with its usual value. Lower values favor the first ranks more. */
const rankOffset = 60;

/**
 * Merges rankings whose scores cannot be compared, by reciprocal rank fusion: an item that is high in one, or in both,
 * comes first.
 */
function joinRankings(rankings: readonly (readonly MemoryHit[])[]): readonly MemoryHit[] {
  const joined = new Map<string, { readonly hit: MemoryHit; score: number }>();
  for (const ranking of rankings)
    ranking.forEach((hit, rank) => {
      const key = MemoryItem.key(hit.item);
      const known = joined.get(key) ?? { hit, score: 0 };
      known.score += 1 / (rankOffset + rank);
      joined.set(key, known);
    });
  return [...joined.values()].toSorted((one, other) => other.score - one.score).map(({ hit }) => hit);
}

/** The run whose memory is opened. */
interface MemoryReader {
  readonly scope: RunScope;
  readonly labels: { readonly now: Labels };
  readonly clock: Clock;
}

/**
 * Opens the memory that a run can reach, for one reader. Null: there is no store. A null session: without session
 * memory.
 */
export type OpenMemory = (session: SessionId | null, embed?: EmbedTexts) => ScopedMemory | null;

/** Returns the function that opens the memory of a run. */
export function createOpenMemory(store: Store | null, { scope, labels, clock }: MemoryReader): OpenMemory {
  const means = { now: () => clock.now(), labels: () => labels.now };
  return (sessionId, embed) =>
    store && new ScopedMemory(store, { ...scope, ...means, sessionId, embed: embed ?? null });
}
