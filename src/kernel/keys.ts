/** One key. Whoever holds its bytes can read everything that it seals. */
export interface SealingKey {
  /** Stands in the open in whatever the key has sealed: 1 to 255 bytes, never reused for another secret. */
  readonly id: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
  /** It opens also once the partition's own key is destroyed: for what must stay. Default: there is no difference. */
  readonly lasting?: boolean;
}

/** The keys of one partition, newest first: that one seals, each of them opens. */
export type KeyRing = readonly [SealingKey, ...SealingKey[]];

/**
 * Who gives the key of a partition. A partition is the key of an object: `tenant/tree` or a tenant. Its content is
 * readable as long as its key is, wherever copies lie.
 */
export interface Keys {
  /**
   * The same keys each time, until one is added or taken away. Once the partition's own was destroyed, only those that
   * last are left.
   *
   * @throws KeyDestroyedError if nothing is left.
   */
  of(partition: string): Promise<KeyRing>;
  /**
   * Makes everything sealed for the partition unreadable, for ever, but for what was sealed to last. Absent where keys
   * are derived from one secret.
   */
  destroy?(partition: string): Promise<void>;
}
