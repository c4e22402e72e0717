import { AuditChainError, type AuditHead, type AuditStore, type Keys, Partition } from "#kernel";
import { LruMap } from "#base";
import { movedBack } from "./audit-of.ts";
import { type AuditNote, ChainKeys } from "./chain.ts";

/** What a writer stands on. */
export interface AuditWriterHost {
  readonly audit: AuditStore;
  readonly keys: Keys;
  readonly now: () => number;
}

/** What is known of a tenant's chain. */
interface Desk {
  /** Undefined: not known. Wrong as soon as somebody else writes: then the store refuses what follows it. */
  head: AuditHead | null | undefined;
  /** The newest head that was written here: the chain must always have it. Null: none was. */
  trusted: AuditHead | null;
  keys: ChainKeys | null;
  keysUntil: number;
  /** Resolves when everything before is written: who writes at once would only refuse each other. */
  turn: Promise<unknown>;
  /** What will be written then, at once, for everybody who has come meanwhile. Null: nothing. */
  next: Batch | null;
}

interface Batch {
  /** By source: what is told again while it waits is told once. */
  readonly notes: Map<string, AuditNote>;
  readonly written: Promise<void>;
}

/** Keys that are replaced or destroyed must not live on here. */
const keptMs = 30_000;
const mostDesks = 1_000;

/**
 * Lengthens the audit chains of tenants, beside other processes that do the same. A chain that has lost a head that was written here
 * is not taken for one that another process wrote: the next link says so, and `verify` finds it.
 */
export class AuditWriter {
  readonly #host: AuditWriterHost;
  readonly #desks = new LruMap<string, Desk>({ max: mostDesks });

  constructor(host: AuditWriterHost) {
    this.#host = host;
  }

  /** Writes what is not written yet: all of it or nothing. */
  async record(partition: Partition, notes: readonly AuditNote[]): Promise<void> {
    if (notes.length === 0 || this.#host.audit.keeps === false) return;
    const desk = this.#desk(Partition.key(partition));
    const batch = (desk.next ??= this.#batch(partition, desk));
    for (const note of notes) if (!batch.notes.has(note.source)) batch.notes.set(note.source, note);
    await batch.written;
  }

  #batch(partition: Partition, desk: Desk): Batch {
    const notes = new Map<string, AuditNote>();
    const written = desk.turn.then(() => {
      desk.next = null;
      return this.#write(partition, desk, [...notes.values()]);
    });
    desk.turn = written.catch(() => {
      desk.head = undefined;
    });
    return { notes, written };
  }

  /** As if nothing was there of it; where that is refused, after a look. */
  async #write(partition: Partition, desk: Desk, notes: readonly AuditNote[]): Promise<void> {
    if (desk.head !== undefined && (await this.#follows(partition, desk, notes)) === null) return;
    for (let refused: AuditHead | null | undefined; ;) {
      // The head first: whatever is written after this look makes the store refuse.
      desk.head = await this.#host.audit.head(partition);
      const sources = notes.map(({ source }) => source);
      const known = new Set(await this.#host.audit.known(partition, sources));
      const fresh = notes.filter(({ source }) => !known.has(source));
      const lost = await this.#lostHead(partition, desk);
      const refusal = await this.#follows(
        partition,
        desk,
        lost ? [movedBack(lost, this.#host.now()), ...fresh] : fresh,
      );
      if (refusal === null) return;
      // Somebody was faster, and so the head has moved: else the store is broken.
      if (refused !== undefined && refused?.hash === desk.head?.hash) throw refusal;
      refused = desk.head;
    }
  }

  /** Returns the head that the chain once had and has no more; null: it has all that are known. */
  async #lostHead(partition: Partition, { trusted }: Desk): Promise<AuditHead | null> {
    if (!trusted) return null;
    const [link] = await this.#host.audit.read(partition, trusted.index, 1);
    return link?.index === trusted.index && link.hash === trusted.hash ? null : trusted;
  }

  /** Null: written. */
  async #follows(
    partition: Partition,
    desk: Desk,
    notes: readonly AuditNote[],
  ): Promise<AuditChainError | null> {
    const keys = await this.#keys(partition, desk);
    const links = keys.link(desk.head ?? null, notes);
    const last = links.at(-1);
    if (!last) return null;
    try {
      await this.#host.audit.append(partition, links);
      desk.head = { index: last.index, hash: last.hash };
      desk.trusted = desk.head;
      return null;
    } catch (error) {
      if (error instanceof AuditChainError) return error;
      throw error;
    }
  }

  async #keys(partition: Partition, desk: Desk): Promise<ChainKeys> {
    const now = this.#host.now();
    if (desk.keys && now < desk.keysUntil) return desk.keys;
    const key = Partition.key(partition);
    desk.keys = new ChainKeys(key, await this.#host.keys.of(key));
    desk.keysUntil = now + keptMs;
    return desk.keys;
  }

  #desk(key: string): Desk {
    return this.#desks.getOrCreate(key, () => ({
      head: undefined,
      trusted: null,
      keys: null,
      keysUntil: 0,
      turn: Promise.resolve(),
      next: null,
    }));
  }
}
