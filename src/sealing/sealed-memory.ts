import {
  Fact,
  isJsonObject,
  Labels,
  MemoryBlock,
  MemoryItem,
  MemoryOwner,
  SealBrokenError,
  type IndexEntry,
  type Json,
  type Store,
} from "#kernel";
import type { Content, ContentOf } from "./content.ts";

/**
 * Seals memory: values, keys and labels of facts, and texts, labels and authors of blocks, with the tenant's key. Keys and terms
 * are replaced by keyed hashes, different for each owner. The database can compare them, but reveals neither the terms
 * nor which users share them. Names of blocks, ids and times stay readable.
 */
export function sealedMemory(memory: Store["memory"], contentOf: ContentOf): Store["memory"] {
  return {
    remember: async (partition, owner, fact, { terms = [], ...options } = {}) => {
      Fact.check(fact);
      const content = await contentOf(partition);
      const hashed = { ...options, terms: hashTerms(content, owner, terms) };
      return memory.remember(partition, owner, sealFact(content, owner, fact), hashed);
    },
    recall: async (partition, owner, { key, ...query }) => {
      const content = await contentOf(partition);
      const hashed = key === undefined ? query : { ...query, key: hashKey(content, owner, key) };
      const facts = await memory.recall(partition, owner, hashed);
      return facts
        .map((fact) => openFact(content, owner, fact))
        .toSorted((a, b) => compareIds(a.key, b.key) || a.validFrom - b.validFrom);
    },
    forget: async (partition, owner, request) => {
      if ("fact" in request) return memory.forget(partition, owner, request);
      const content = await contentOf(partition);
      return memory.forget(partition, owner, { ...request, key: hashKey(content, owner, request.key) });
    },
    ...sealedBlocks(memory, contentOf),
    index: async (partition, owner, entries) => {
      const content = await contentOf(partition);
      const hashed = entries.map((entry) => hashEntry(content, owner, entry));
      await memory.index(partition, owner, hashed);
    },
    unindex: (partition, owner, items) => memory.unindex(partition, owner, items),
    search: async (partition, owner, query) => {
      const content = await contentOf(partition);
      return memory.search(partition, owner, { ...query, terms: hashTerms(content, owner, query.terms) });
    },
    listIndexed: (partition, owner, range) => memory.listIndexed(partition, owner, range),
    owners: (partition, user) => memory.owners(partition, user),
  };
}

type BlockMethods = "block" | "blocks" | "editBlock" | "findEdit" | "removeBlock";

function sealedBlocks(memory: Store["memory"], contentOf: ContentOf): Pick<Store["memory"], BlockMethods> {
  const openBlockOf = async (
    partition: Parameters<ContentOf>[0],
    owner: MemoryOwner,
    kept: MemoryBlock | null,
  ): Promise<MemoryBlock | null> => kept && openBlock(await contentOf(partition), owner, kept);
  return {
    block: async (partition, owner, name) =>
      openBlockOf(partition, owner, await memory.block(partition, owner, name)),
    blocks: async (partition, owner) => {
      const content = await contentOf(partition);
      return (await memory.blocks(partition, owner)).map((kept) => openBlock(content, owner, kept));
    },
    editBlock: async (partition, owner, name, edit) => {
      MemoryBlock.check(name, edit);
      const content = await contentOf(partition);
      const present = await openBlockOf(partition, owner, await memory.block(partition, owner, name));
      const { text, limit, version } = edit;
      // Joined with the labels of the version that this replaces. If the version differs, the edit is refused.
      const labels = Labels.join(edit.labels, present?.labels);
      const said = { text, limit, labels, ...MemoryBlock.joinAuthors(present, edit) };
      const { sealed } = content.seal(placeOfBlock(owner, name, version + 1), said);
      const result = await memory.editBlock(partition, owner, name, {
        ...edit,
        author: null,
        text: sealed,
        limit: sealed.length,
        labels: Labels.none,
        terms: hashTerms(content, owner, edit.terms ?? []),
      });
      return result.outcome === "applied"
        ? result
        : { outcome: "conflict", present: result.present && openBlock(content, owner, result.present) };
    },
    findEdit: (partition, owner, id) => memory.findEdit(partition, owner, id),
    removeBlock: (partition, owner, name) => memory.removeBlock(partition, owner, name),
  };
}

const hashTerms = (content: Content, owner: MemoryOwner, terms: readonly string[]): readonly string[] =>
  terms.map((term) => content.digest(`term ${MemoryOwner.key(owner)}\n${term}`));

const hashKey = (content: Content, owner: MemoryOwner, key: string): string =>
  content.digest(`fact ${MemoryOwner.key(owner)}\n${key}`);

const hashEntry = (content: Content, owner: MemoryOwner, { item, at, terms }: IndexEntry): IndexEntry => ({
  item,
  at,
  terms: hashTerms(content, owner, terms),
});

const placeOfFact = (owner: MemoryOwner, { id, validFrom }: Fact): string =>
  `fact ${MemoryOwner.key(owner)} ${validFrom} ${MemoryItem.key(MemoryItem.fact(id))}`;

const placeOfBlock = (owner: MemoryOwner, name: string, version: number): string =>
  `block ${MemoryOwner.key(owner)} ${version} ${name}`;

function sealFact(content: Content, owner: MemoryOwner, fact: Fact): Fact {
  const { key, value, labels } = fact;
  const sealed = content.seal(placeOfFact(owner, fact), { key, value, labels });
  return { ...fact, key: hashKey(content, owner, key), value: sealed, labels: Labels.none };
}

/** Opens a fact. @throws SealBrokenError, KeyDestroyedError */
function openFact(content: Content, owner: MemoryOwner, fact: Fact): Fact {
  const said = content.open(placeOfFact(owner, fact), fact.value);
  const { key, value = null, labels } = isJsonObject(said) ? said : {};
  if (typeof key !== "string") throw broken(owner);
  return { ...fact, key, value, labels: requireLabels(owner, labels) };
}

/** Opens a block. @throws SealBrokenError, KeyDestroyedError */
function openBlock(content: Content, owner: MemoryOwner, block: MemoryBlock): MemoryBlock {
  const said = content.open(placeOfBlock(owner, block.name, block.version), { sealed: block.text });
  const { text, limit, labels, authors } = isJsonObject(said) ? said : {};
  if (typeof text !== "string" || typeof limit !== "number") throw broken(owner);
  return {
    ...block,
    text,
    limit,
    labels: requireLabels(owner, labels),
    ...MemoryBlock.decodeAuthors(authors),
  };
}

function requireLabels(owner: MemoryOwner, value: Json | undefined): Labels {
  const labels = Labels.decode(value);
  if (labels === null) throw broken(owner);
  return labels;
}

const broken = (owner: MemoryOwner): SealBrokenError =>
  new SealBrokenError({ partition: MemoryOwner.key(owner), reason: "not-authentic" });

const compareIds = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
