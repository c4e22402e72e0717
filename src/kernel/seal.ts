/**
 * Seals and opens the values of one partition, the key of an object. A sealed value opens under the same partition and
 * purpose only.
 */
export interface Seal {
  seal(value: Uint8Array): Uint8Array;
  /** Opens a sealed value. @throws SealBrokenError; KeyDestroyedError if only lasting values can still be opened. */
  open(sealed: Uint8Array): Uint8Array;
  /**
   * Returns a keyed hash. Equal values of the partition give equal hashes. Without the key, the hash reveals nothing
   * about the value.
   */
  digest(value: Uint8Array): string;
  /** The seal for values without content. They open even after the partition's own key is destroyed. */
  readonly lasting: Seal;
  /** Whether the partition's own key was destroyed. */
  readonly isErased: boolean;
  /**
   * Returns the seal for one purpose. A value does not open under another purpose, for example another name of the
   * state.
   */
  boundTo(purpose: string): Seal;
  /**
   * Returns a deterministic seal for replayed code, whose bytes an engine compares. The same value gives the same bytes
   * at the same `place`. `begun` is the sealed value that the code began with: it names the key.
   */
  repeatable(place: string, begun: Uint8Array): Seal;
}

/** The source of an engine's seals. All data that leaves the process passes one. */
export interface Sealing {
  /** Returns the seal of a partition. @throws KeyDestroyedError, or the reason why no key is available. */
  getSeal(partition: string): Promise<Seal>;
  /** Drops the cached keys of a partition, because its key was destroyed elsewhere. The next use loads them again. */
  forget(partition: string): void;
}
