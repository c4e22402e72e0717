/**
 * Seals and opens the values of one partition, the key of an object. A sealed value opens under the same partition and
 * purpose only.
 */
export interface Seal {
  seal(value: Uint8Array): Uint8Array;
  /** @throws SealBrokenError; KeyDestroyedError if only lasting values can be opened any more. */
  open(sealed: Uint8Array): Uint8Array;
  /** Returns a keyed hash: the same text for the same value of the partition, and no hint of the value without its key. */
  digest(value: Uint8Array): string;
  /** The same, for values without content: they open also once the partition's own key is destroyed. */
  readonly lasting: Seal;
  /** Whether the partition's own key was destroyed. */
  readonly isErased: boolean;
  /** The same, for one purpose: a value does not open under another, for example another name of the state. */
  boundTo(purpose: string): Seal;
  /**
   * The same, for code that is replayed and whose bytes are compared with those of the first time: the same value gives
   * the same bytes at the same `place`. `begun` is the sealed value that the code began with: it names the key.
   */
  repeatable(place: string, begun: Uint8Array): Seal;
}

/** Where an engine gets its seals. Everything that leaves the process passes one. */
export interface Sealing {
  /** The seal of a partition. @throws KeyDestroyedError, or why no key can be had. */
  of(partition: string): Promise<Seal>;
  /** Asks for the keys of a partition again when it is next needed: its key was destroyed elsewhere. */
  forget(partition: string): void;
}
