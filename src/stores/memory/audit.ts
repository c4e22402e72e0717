import { AuditChainError, type AuditEntry, type AuditStore, Partition } from "#kernel";
import { copy } from "./shelf.ts";

export class MemoryAudit implements AuditStore {
  readonly #chains = new Map<string, AuditEntry[]>();

  async append(partition: Partition, entry: AuditEntry): Promise<void> {
    const chain = this.#of(partition);
    if (chain[entry.index]?.hash === entry.hash) return;
    const head = chain.at(-1);
    if (entry.index !== chain.length || entry.previous !== (head?.hash ?? ""))
      throw new AuditChainError({ index: entry.index, head: head?.index ?? null });
    chain.push(copy(entry));
  }

  async read(partition: Partition, from: number, limit: number): Promise<readonly AuditEntry[]> {
    return this.#of(partition).slice(from, from + limit);
  }

  async head(partition: Partition): Promise<AuditEntry | null> {
    return this.#of(partition).at(-1) ?? null;
  }

  #of(partition: Partition): AuditEntry[] {
    const key = Partition.key(partition);
    const chain = this.#chains.get(key) ?? [];
    this.#chains.set(key, chain);
    return chain;
  }
}
