import {
  AuditChainError,
  type AuditCheck,
  type AuditEntry,
  type AuditFilter,
  type AuditHead,
  type AuditStore,
  Partition,
} from "#kernel";
import { copy } from "./tenant-map.ts";

interface Chain {
  readonly links: AuditEntry[];
  readonly sources: Set<string>;
  check: AuditCheck | null;
}

export class MemoryAudit implements AuditStore {
  readonly #chains = new Map<string, Chain>();

  async append(partition: Partition, links: readonly AuditEntry[]): Promise<void> {
    const chain = this.#getChain(partition);
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

  async findRecorded(partition: Partition, sources: readonly string[]): Promise<readonly string[]> {
    const chain = this.#getChain(partition);
    return sources.filter((source) => chain.sources.has(source));
  }

  async read(partition: Partition, from: number, limit: number): Promise<readonly AuditEntry[]> {
    return this.#getChain(partition).links.slice(from, from + limit);
  }

  async list(
    partition: Partition,
    { kind, sourcePrefix = "", before = Infinity }: AuditFilter,
    limit: number,
  ): Promise<readonly AuditEntry[]> {
    const found = this.#getChain(partition).links.filter(
      (link) =>
        link.index < before &&
        (kind === undefined || link.kind === kind) &&
        link.source.startsWith(sourcePrefix),
    );
    return found.toReversed().slice(0, limit);
  }

  async check(partition: Partition): Promise<AuditCheck | null> {
    return this.#getChain(partition).check;
  }

  async keepCheck(partition: Partition, check: AuditCheck): Promise<void> {
    const chain = this.#getChain(partition);
    if (check.at >= (chain.check?.at ?? 0)) chain.check = copy(check);
  }

  async head(partition: Partition): Promise<AuditHead | null> {
    const head = this.#getChain(partition).links.at(-1);
    return head ? { index: head.index, hash: head.hash } : null;
  }

  #getChain(partition: Partition): Chain {
    const key = Partition.key(partition);
    const chain = this.#chains.get(key) ?? { links: [], sources: new Set(), check: null };
    this.#chains.set(key, chain);
    return chain;
  }
}

const refuseToRead = async (): Promise<never> => {
  throw new TypeError("the audit needs a durable store: createRuntime({ store })");
};

/** The audit of a store that keeps none. Reading it is an error, so that an empty chain is not taken for a whole one. */
export const noAudit: AuditStore = {
  keeps: false,
  append: async () => undefined,
  findRecorded: async () => [],
  head: async () => null,
  check: async () => null,
  keepCheck: async () => undefined,
  read: refuseToRead,
  list: refuseToRead,
};
