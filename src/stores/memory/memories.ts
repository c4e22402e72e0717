import {
  Fact,
  type FactQuery,
  type ForgetRequest,
  type IndexEntry,
  Labels,
  MemoryBlock,
  MemoryHit,
  MemoryItem,
  MemoryOwner,
  type BlockEdit,
  type BlockEditResult,
  type BlockReceipt,
  type MemoryQuery,
  type MemoryStore,
  type RememberOptions,
  type Partition,
  type SessionKey,
  type UserId,
  weighTerms,
} from "#kernel";
import { copy, TenantMap } from "./tenant-map.ts";
import type { MemoryVectors } from "./vectors.ts";

/** All that one owner has. */
interface Memory {
  facts: Fact[];
  readonly blocks: Map<string, MemoryBlock>;
  /** By item name. */
  readonly index: Map<string, IndexEntry>;
  /** Returned items of earlier writes, by write id. */
  readonly writes: Map<string, readonly MemoryItem[]>;
  readonly receipts: Map<string, BlockReceipt>;
}

export class MemoryMemories implements MemoryStore {
  /** By owner. */
  readonly #byTenant = new TenantMap<Memory>();
  readonly #vectors: MemoryVectors;

  constructor(vectors: MemoryVectors) {
    this.#vectors = vectors;
  }

  async remember(
    partition: Partition,
    owner: MemoryOwner,
    fact: Fact,
    options: RememberOptions = {},
  ): Promise<readonly MemoryItem[]> {
    Fact.check(fact);
    const memory = this.#getOrCreate(partition, owner);
    const before = memory.writes.get(fact.id);
    if (before) return before;
    const isReplaced = (old: Fact): boolean => old.key === fact.key && old.validFrom === fact.validFrom;
    if (!memory.facts.some(isReplaced)) Fact.checkRoom(memory.facts.length, options);
    const replaced = this.#erase(partition, owner, isReplaced);
    memory.facts.push(copy(fact));
    put(memory, { item: MemoryItem.fact(fact.id), at: fact.recordedAt, terms: options.terms ?? [] });
    memory.writes.set(fact.id, replaced);
    return replaced;
  }

  async recall(
    partition: Partition,
    owner: MemoryOwner,
    { key, ids, at }: FactQuery,
  ): Promise<readonly Fact[]> {
    const byTime = (this.#find(partition, owner)?.facts ?? [])
      .filter((fact) => key === undefined || fact.key === key)
      .toSorted((a, b) => a.validFrom - b.validFrom);
    const byKey = Map.groupBy(byTime, (fact) => fact.key);
    return [...byKey.keys()]
      .toSorted()
      .flatMap((name) => Fact.timeline(byKey.get(name) ?? []))
      .filter((fact) => ids === undefined || ids.includes(fact.id))
      .filter((fact) => at === undefined || Fact.holds(fact, at))
      .map(copy);
  }

  async forget(
    partition: Partition,
    owner: MemoryOwner,
    request: ForgetRequest,
  ): Promise<readonly MemoryItem[]> {
    const { writes } = this.#getOrCreate(partition, owner);
    const before = writes.get(request.id);
    if (before) return before;
    const erased = this.#erase(partition, owner, (fact) =>
      "fact" in request ? fact.id === request.fact : fact.key === request.key,
    );
    writes.set(request.id, erased);
    return erased;
  }

  async block(partition: Partition, owner: MemoryOwner, name: string): Promise<MemoryBlock | null> {
    return copy(this.#find(partition, owner)?.blocks.get(name) ?? null);
  }

  async blocks(partition: Partition, owner: MemoryOwner): Promise<readonly MemoryBlock[]> {
    const blocks = this.#find(partition, owner)?.blocks.values() ?? [];
    return [...blocks].toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(copy);
  }

  async editBlock(
    partition: Partition,
    owner: MemoryOwner,
    name: string,
    edit: BlockEdit,
  ): Promise<BlockEditResult> {
    MemoryBlock.check(name, edit);
    const memory = this.#getOrCreate(partition, owner);
    const before = memory.receipts.get(edit.id);
    if (before) return { outcome: "applied", receipt: before };
    const present = memory.blocks.get(name) ?? null;
    if ((present?.version ?? 0) !== edit.version) return { outcome: "conflict", present: copy(present) };
    const { text, limit, runId, at, terms = [] } = edit;
    const version = edit.version + 1;
    const labels = Labels.join(edit.labels, present?.labels);
    const authors = MemoryBlock.joinAuthors(present, edit);
    memory.blocks.set(name, copy({ name, text, limit, version, updatedAt: at, runId, labels, ...authors }));
    put(memory, { item: MemoryItem.block(name), at, terms });
    const receipt = { name, version, updatedAt: at };
    memory.receipts.set(edit.id, receipt);
    return { outcome: "applied", receipt };
  }

  async findEdit(partition: Partition, owner: MemoryOwner, id: string): Promise<BlockReceipt | null> {
    return this.#find(partition, owner)?.receipts.get(id) ?? null;
  }

  async removeBlock(partition: Partition, owner: MemoryOwner, name: string): Promise<void> {
    this.#find(partition, owner)?.blocks.delete(name);
    await this.unindex(partition, owner, [MemoryItem.block(name)]);
  }

  async index(partition: Partition, owner: MemoryOwner, entries: readonly IndexEntry[]): Promise<void> {
    for (const entry of entries) put(this.#getOrCreate(partition, owner), entry);
  }

  async unindex(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): Promise<void> {
    this.#drop(partition, owner, items);
  }

  async search(partition: Partition, owner: MemoryOwner, query: MemoryQuery): Promise<readonly MemoryHit[]> {
    const { terms, kinds, limit, at } = query;
    const entries = [...(this.#find(partition, owner)?.index.values() ?? [])].filter(
      ({ item }) => kinds === undefined || kinds.includes(item.kind),
    );
    const count = (term: string): number => entries.filter((entry) => entry.terms.includes(term)).length;
    const weights = weighTerms(new Map(terms.map((term) => [term, count(term)])));
    const score = (entry: IndexEntry): number =>
      entry.terms.reduce((sum, term) => sum + (weights.get(term) ?? 0), 0);
    const holding = at === undefined ? [] : await this.recall(partition, owner, { at });
    const hits = entries
      .filter(
        ({ item }) => at === undefined || item.kind !== "fact" || holding.some(({ id }) => id === item.id),
      )
      .map((entry) => ({ owner, item: entry.item, score: score(entry), at: entry.at }));
    return MemoryHit.best(
      hits.filter((hit) => hit.score > 0),
      limit,
    );
  }

  async listIndexed(
    partition: Partition,
    owner: MemoryOwner,
    { after, limit }: { readonly after: MemoryItem | null; readonly limit: number },
  ): Promise<readonly IndexEntry[]> {
    const names = [...(this.#find(partition, owner)?.index ?? [])]
      .filter(([name]) => after === null || name > MemoryItem.key(after))
      .toSorted(([one], [other]) => (one < other ? -1 : 1));
    return names.slice(0, limit).map(([, entry]) => copy(entry));
  }

  async owners(partition: Partition, user: UserId | null): Promise<readonly MemoryOwner[]> {
    return this.#ownersOf(partition, user)
      .filter(([, { facts, blocks, index }]) => facts.length + blocks.size + index.size > 0)
      .map(([key]) => MemoryOwner.parse(key))
      .toSorted((a, b) => (MemoryOwner.key(a) < MemoryOwner.key(b) ? -1 : 1));
  }

  eraseUser(partition: Partition, user: UserId | null): void {
    for (const [key] of this.#ownersOf(partition, user)) this.#byTenant.getItems(partition).delete(key);
  }

  eraseSession(partition: Partition, session: SessionKey): void {
    this.#byTenant.getItems(partition).delete(MemoryOwner.key(MemoryOwner.session(session)));
    const index = this.#find(partition, MemoryOwner.user(session.userId))?.index;
    for (const key of index?.keys() ?? [])
      if (key.startsWith(MemoryItem.episodesPrefix(session.id))) index?.delete(key);
  }

  #erase(partition: Partition, owner: MemoryOwner, goes: (fact: Fact) => boolean): readonly MemoryItem[] {
    const memory = this.#getOrCreate(partition, owner);
    const items = memory.facts.filter(goes).map(({ id }) => MemoryItem.fact(id));
    memory.facts = memory.facts.filter((fact) => !goes(fact));
    this.#drop(partition, owner, items);
    return items;
  }

  #drop(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): void {
    for (const item of items) this.#find(partition, owner)?.index.delete(MemoryItem.key(item));
    this.#vectors.drop(partition, owner, items);
  }

  #ownersOf(partition: Partition, user: UserId | null): (readonly [string, Memory])[] {
    const own = MemoryOwner.key(MemoryOwner.user(user));
    const sessions = MemoryOwner.sessionsPrefix(user);
    return [...this.#byTenant.getItems(partition)].filter(([key]) => key === own || key.startsWith(sessions));
  }

  #find(partition: Partition, owner: MemoryOwner): Memory | undefined {
    return this.#byTenant.getItems(partition).get(MemoryOwner.key(owner));
  }

  #getOrCreate(partition: Partition, owner: MemoryOwner): Memory {
    const found = this.#find(partition, owner);
    if (found) return found;
    const fresh: Memory = {
      facts: [],
      blocks: new Map(),
      index: new Map(),
      writes: new Map(),
      receipts: new Map(),
    };
    this.#byTenant.getItems(partition).set(MemoryOwner.key(owner), fresh);
    return fresh;
  }
}

function put({ index }: Memory, { item, at, terms }: IndexEntry): void {
  if (terms.length === 0) index.delete(MemoryItem.key(item));
  else index.set(MemoryItem.key(item), copy({ item, at, terms: [...new Set(terms)].toSorted() }));
}
