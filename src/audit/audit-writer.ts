import {
  AuditChainError,
  type AuditHead,
  type AuditStore,
  type Keys,
  Partition,
  StoreRejectionError,
} from "#kernel";
import { LruMap } from "#base";
import { createMovedBackNote } from "./audit-of.ts";
import { type AuditNote, ChainKeys } from "./chain.ts";

/** Dependencies of an audit writer. */
export interface AuditWriterDeps {
  readonly audit: AuditStore;
  readonly keys: Keys;
  readonly now: () => number;
}

/** State of one tenant's chain. */
interface ChainState {
  /** Undefined: not loaded. Outdated once another process writes; the store then refuses the append. */
  head: AuditHead | null | undefined;
  /** The newest head that was written here: the chain must always have it. Null: none was. */
  trusted: AuditHead | null;
  keys: ChainKeys | null;
  keysUntil: number;
  /** Resolves when everything before is written: who writes at once would only refuse each other. */
  turn: Promise<unknown>;
  /** The next batch, collected during a write and appended in one go. Null: none. */
  next: Batch | null;
}

interface Batch {
  /** By source, so that a note repeated while waiting is written once. */
  readonly notes: Map<string, AuditNote>;
  readonly written: Promise<void>;
}

/** Keys that are replaced or destroyed must not live on here. */
const keyCacheMs = 30_000;
const mostDesks = 1_000;

/**
 * Appends to the audit chains of tenants, concurrently with other processes. If a chain has lost a head written here,
 * this is not mistaken for a write of another process: the next link records the loss, and `verify` reports it.
 */
export class AuditWriter {
  readonly #host: AuditWriterDeps;
  readonly #states = new LruMap<string, ChainState>({ max: mostDesks });

  constructor(host: AuditWriterDeps) {
    this.#host = host;
  }

  /** Whether the store keeps what is appended. If not, notes need not be made. */
  get keeps(): boolean {
    return this.#host.audit.keeps !== false;
  }

  /** Appends the notes that are not written yet, all or nothing. */
  async record(partition: Partition, notes: readonly AuditNote[]): Promise<void> {
    if (notes.length === 0 || !this.keeps) return;
    const state = this.#state(Partition.key(partition));
    const batch = (state.next ??= this.#batch(partition, state));
    for (const note of notes) if (!batch.notes.has(note.source)) batch.notes.set(note.source, note);
    try {
      await batch.written;
    } catch (error) {
      // The rejected note may be another tree's, so these are written without the others.
      if (!StoreRejectionError.is(error) || batch.notes.size === notes.length) throw error;
      await this.#alone(partition, state, notes);
    }
  }

  #alone(partition: Partition, state: ChainState, notes: readonly AuditNote[]): Promise<void> {
    const written = state.turn.then(() => this.#write(partition, state, notes));
    state.turn = written.catch(() => {
      state.head = undefined;
    });
    return written;
  }

  #batch(partition: Partition, state: ChainState): Batch {
    const notes = new Map<string, AuditNote>();
    const written = state.turn.then(() => {
      state.next = null;
      return this.#write(partition, state, [...notes.values()]);
    });
    state.turn = written.catch(() => {
      state.head = undefined;
    });
    return { notes, written };
  }

  /** Appends optimistically. On conflict, reloads the head, drops links already written, and retries. */
  async #write(partition: Partition, state: ChainState, notes: readonly AuditNote[]): Promise<void> {
    if (state.head !== undefined && (await this.#follows(partition, state, notes)) === null) return;
    for (let refused: AuditHead | null | undefined; ;) {
      // Reads the head first: the store refuses the append if a link is written after this read.
      state.head = await this.#host.audit.head(partition);
      const sources = notes.map(({ source }) => source);
      const known = new Set(await this.#host.audit.findRecorded(partition, sources));
      const fresh = notes.filter(({ source }) => !known.has(source));
      const lost = await this.#lostHead(partition, state);
      const refusal = await this.#follows(
        partition,
        state,
        lost ? [createMovedBackNote(lost, this.#host.now()), ...fresh] : fresh,
      );
      if (refusal === null) return;
      // On a conflict the head has moved. If it has not, the store is broken.
      if (refused !== undefined && refused?.hash === state.head?.hash) throw refusal;
      refused = state.head;
    }
  }

  /** Returns the head that the chain once had and has lost. Null if all known heads are present. */
  async #lostHead(partition: Partition, { trusted }: ChainState): Promise<AuditHead | null> {
    if (!trusted) return null;
    const [link] = await this.#host.audit.read(partition, trusted.index, 1);
    return link?.index === trusted.index && link.hash === trusted.hash ? null : trusted;
  }

  /** Null: written. */
  async #follows(
    partition: Partition,
    state: ChainState,
    notes: readonly AuditNote[],
  ): Promise<AuditChainError | null> {
    const keys = await this.#keys(partition, state);
    const links = keys.link(state.head ?? null, notes);
    const last = links.at(-1);
    if (!last) return null;
    try {
      await this.#host.audit.append(partition, links);
      state.head = { index: last.index, hash: last.hash };
      state.trusted = state.head;
      return null;
    } catch (error) {
      if (error instanceof AuditChainError) return error;
      throw error;
    }
  }

  async #keys(partition: Partition, state: ChainState): Promise<ChainKeys> {
    const now = this.#host.now();
    if (state.keys && now < state.keysUntil) return state.keys;
    const key = Partition.key(partition);
    state.keys = new ChainKeys(key, await this.#host.keys.getRing(key));
    state.keysUntil = now + keyCacheMs;
    return state.keys;
  }

  #state(key: string): ChainState {
    return this.#states.getOrCreate(key, () => ({
      head: undefined,
      trusted: null,
      keys: null,
      keysUntil: 0,
      turn: Promise.resolve(),
      next: null,
    }));
  }
}
