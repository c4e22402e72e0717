/** One sealing key. Its bytes can open everything that it sealed. */
export interface SealingKey {
  /** The key's id, stored unencrypted in every value it sealed: 1 to 255 bytes, never reused for another secret. */
  readonly id: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
  /** Whether the key still opens values after the partition's own key is destroyed. Default: no distinction. */
  readonly lasting?: boolean;
}

/** The keys of one partition, newest first. The newest seals; all of them open. */
export type KeyRing = readonly [SealingKey, ...SealingKey[]];

/**
 * The source of keys. A partition is the key of an object: `tenant/tree` or a tenant. Its content is readable only as
 * long as its key exists, wherever copies are.
 */
export interface Keys {
  /**
   * Returns the partition's keys. They stay the same until one is added or removed. Once the partition's own key is
   * destroyed, only lasting keys are left.
   *
   * @throws KeyDestroyedError if no key is left.
   */
  getRing(partition: string): Promise<KeyRing>;
  /**
   * Makes everything sealed for the partition permanently unreadable, except lasting values. Absent if keys are derived
   * from one secret.
   */
  destroy?(partition: string): Promise<void>;
}
