import {
  type KeyObject,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
} from "node:crypto";
import { KeyDestroyedError, type KeyRing, type Seal, SealBrokenError } from "#kernel";

/*
 * Sealing: all data that leaves the process is encrypted, with a key for each partition: a tenant, or one of its trees.
 *
 * Neighbours: `Keys` (a port of the kernel) is the source of keys: derived from a secret (`derived-keys.ts`), or stored
 * wrapped so that each can be destroyed (`stored-keys.ts`). `seals.ts` caches a seal for each partition. Engines seal
 * journal, calls and state with it; `sealed-store.ts` seals the store's content; deltas seal their frames.
 *
 * 1. A sealed value opens only under the partition and the purpose that it was sealed for.
 * 2. A changed value does not open: `SealBrokenError`. Once its key is destroyed, it never opens again:
 *    `KeyDestroyedError`.
 * 3. Values that must have the same bytes on a replay have a nonce derived from position and value. All other values
 *    have a random one.
 * 4. Values that must survive the key of their tree are sealed with the lasting key. They hold no erasable content.
 * 5. The newest key seals, every key of the ring opens: keys can be rotated without downtime.
 */

/** The format of values that are bound only to the partition. */
const unboundVersion = 1;
/** The format of values that are bound to the partition and a purpose. */
const boundVersion = 2;
const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

interface Key {
  readonly isLasting: boolean;
  readonly id: Buffer;
  readonly secret: KeyObject;
  readonly nonces: KeyObject;
  readonly digests: KeyObject;
}

/**
 * Seals and opens the values of one partition. A sealed value is: version (1 byte), length of the key's id (1), the id,
 * nonce (12), AES-256-GCM of the value with the partition as additional data, tag (16). So a value cannot be passed off
 * as one of another partition or purpose. The version tells whether the additional data has a purpose. A value without
 * one, if a purpose is expected, is of an older format.
 */
export class AesSeal implements Seal {
  readonly #partition: string;
  readonly #bound: Buffer;
  readonly #keys: ReadonlyMap<string, Key>;
  readonly #newest: Key;
  /** Null: every value gets a random nonce. */
  readonly #place: string | null;
  readonly #purpose: string | null;

  private constructor({
    partition,
    keys,
    newest,
    place,
    purpose,
  }: {
    readonly partition: string;
    readonly keys: ReadonlyMap<string, Key>;
    readonly newest: Key;
    readonly place: string | null;
    readonly purpose: string | null;
  }) {
    this.#partition = partition;
    this.#purpose = purpose;
    // Partitions hold no line breaks, so no purpose can look like another partition.
    this.#bound = Buffer.from(purpose === null ? partition : `${partition}\n${purpose}`);
    this.#keys = keys;
    this.#newest = newest;
    this.#place = place;
  }

  static of(partition: string, [newest, ...older]: KeyRing): AesSeal {
    const first = toSealKey(newest);
    const keys = [first, ...older.map(toSealKey)].map((key) => [key.id.toString(), key] as const);
    return new AesSeal({ partition, keys: new Map(keys), newest: first, place: null, purpose: null });
  }

  seal(value: Uint8Array): Uint8Array {
    const { id, secret } = this.#newest;
    const nonce = this.#nonce(value);
    const sealing = createCipheriv(cipher, secret, nonce);
    sealing.setAAD(this.#bound);
    const head = Buffer.of(this.#purpose === null ? unboundVersion : boundVersion, id.length);
    const parts = [head, id, nonce, sealing.update(value), sealing.final(), sealing.getAuthTag()];
    return Buffer.concat(parts);
  }

  /** The seal whose values stay readable after the partition's own key is destroyed. */
  get lasting(): AesSeal {
    if (this.#newest.isLasting) return this;
    const key = this.#keys.values().find(({ isLasting }) => isLasting);
    return key ? this.#with(key, this.#place, this.#purpose) : this;
  }

  /**
   * Returns the seal for values of one purpose. They do not open under another, for example another name of the state.
   */
  boundTo(purpose: string): AesSeal {
    return this.#with(this.#newest, this.#place, purpose);
  }

  #with(newest: Key, place: string | null, purpose: string | null): AesSeal {
    return new AesSeal({ partition: this.#partition, keys: this.#keys, newest, place, purpose });
  }

  /** Opens a sealed value. @throws SealBrokenError; KeyDestroyedError if only lasting values can still be opened. */
  open(sealed: Uint8Array): Uint8Array {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const id = idIn(bytes);
    if (id === null) throw this.#broken("not-sealed");
    const key = this.#keys.get(id);
    if (!key) throw this.#unknownKeyError();
    if (this.#purpose !== null && bytes[0] === unboundVersion) throw this.#broken("older-format");
    const start = 2 + key.id.length;
    const opening = createDecipheriv(cipher, key.secret, bytes.subarray(start, start + nonceBytes), {
      authTagLength: tagBytes,
    });
    opening.setAAD(this.#bound);
    opening.setAuthTag(bytes.subarray(-tagBytes));
    const value = opening.update(bytes.subarray(start + nonceBytes, -tagBytes));
    try {
      opening.final();
    } catch {
      throw this.#broken("not-authentic");
    }
    return value;
  }

  digest(value: Uint8Array): string {
    return createHmac("sha256", this.#newest.digests).update(value).digest("hex");
  }

  /** Whether a value was sealed with the newest key. */
  isNewest(sealed: Uint8Array): boolean {
    return idIn(Buffer.from(sealed)) === this.#newest.id.toString();
  }

  /**
   * Returns a deterministic seal for replayed code, whose bytes an engine compares. The same value at the same position
   * gives the same bytes, even after a new key was added, as long as `begun` (the value that the code began with) names
   * the key. The nonce is a keyed hash of position, purpose and value, so two different values never share one.
   */
  repeatable(place: string, begun: Uint8Array): AesSeal {
    const key = this.#keys.get(idIn(Buffer.from(begun)) ?? "") ?? this.#newest;
    return this.#with(key, place, this.#purpose);
  }

  #nonce(value: Uint8Array): Buffer {
    if (this.#place === null) return randomBytes(nonceBytes);
    const hash = createHmac("sha256", this.#newest.nonces);
    return hash
      .update(`${this.#place}\n${this.#purpose ?? ""}\n`)
      .update(value)
      .digest()
      .subarray(0, nonceBytes);
  }

  /** Whether the partition's own key was destroyed. */
  get isErased(): boolean {
    return this.#keys.values().every(({ isLasting }) => isLasting);
  }

  #unknownKeyError(): Error {
    return this.isErased
      ? new KeyDestroyedError({ partition: this.#partition })
      : this.#broken("unknown-key");
  }

  #broken(reason: SealBrokenError["reason"]): SealBrokenError {
    return new SealBrokenError({ partition: this.#partition, reason });
  }
}

function toSealKey({ id, secret, lasting = false }: KeyRing[number]): Key {
  const name = Buffer.from(id);
  if (name.length < 1 || name.length > 255 || secret.length !== 32)
    throw new TypeError("a sealing key needs an id of 1 to 255 bytes and a secret of 32 bytes");
  const nonces = createHmac("sha256", secret).update("nonces").digest();
  const digests = createHmac("sha256", secret).update("digests").digest();
  return {
    isLasting: lasting,
    id: name,
    secret: createSecretKey(secret),
    nonces: createSecretKey(nonces),
    digests: createSecretKey(digests),
  };
}

function idIn(sealed: Buffer): string | null {
  const [first, length = 0] = sealed;
  const isWhole = length > 0 && sealed.length >= 2 + length + nonceBytes + tagBytes;
  return (first === unboundVersion || first === boundVersion) && isWhole
    ? sealed.toString("utf8", 2, 2 + length)
    : null;
}
