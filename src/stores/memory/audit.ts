import { AuditChainError, type AuditEntry, type AuditHead, type AuditStore, Partition } from "#kernel";
import { copy } from "./shelf.ts";

interface Chain {
  readonly links: AuditEntry[];
  readonly sources: Set<string>;
}

export class MemoryAudit implements AuditStore {
  readonly #chains = new Map<string, Chain>();

  async append(partition: Partition, links: readonly AuditEntry[]): Promise<void> {
    const chain = this.#of(partition);
    const fresh = links.filter(({ index, hash }) => chain.links[index]?.hash !== hash);
    const sources = new Set<string>();
    let head = chain.links.at(-1);
    for (const link of fresh) {
      const follows = link.index === (head?.index ?? -1) + 1 && link.previous === (head?.hash ?? "");
      const isKnown = chain.sources.has(link.source) || sources.has(link.source);
      if (!follows || isKnown)
        throw new AuditChainError({ index: link.index, head: chain.links.at(-1)?.index ?? null });
      sources.add(link.source);
      head = link;
    }
    for (const link of fresh) {
      chain.links.push(copy(link));
      chain.sources.add(link.source);
    }
  }

  async known(partition: Partition, sources: readonly string[]): Promise<readonly string[]> {
    const chain = this.#of(partition);
    return sources.filter((source) => chain.sources.has(source));
  }

  async read(partition: Partition, from: number, limit: number): Promise<readonly AuditEntry[]> {
    return this.#of(partition).links.slice(from, from + limit);
  }

  async head(partition: Partition): Promise<AuditHead | null> {
    const head = this.#of(partition).links.at(-1);
    return head ? { index: head.index, hash: head.hash } : null;
  }

  #of(partition: Partition): Chain {
    const key = Partition.key(partition);
    const chain = this.#chains.get(key) ?? { links: [], sources: new Set() };
    this.#chains.set(key, chain);
    return chain;
  }
}

/** The audit of a store that keeps none. Reading it is an error, so that an empty chain is not taken for a whole one. */
export const noAudit: AuditStore = {
  keeps: false,
  append: async () => undefined,
  known: async () => [],
  head: async () => null,
  read: async () => {
    throw new TypeError("the audit needs a store that keeps it: createRuntime({ store })");
  },
};
