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
 * Sealing: whatever leaves the process is encrypted, with a key for each partition: a tenant, or one of its trees.
 *
 * Neighbours: `Keys` (a port of the kernel) says where keys come from: derived from a secret (`derived-keys.ts`), or stored
 * wrapped so that each can be destroyed (`stored-keys.ts`). `seals.ts` caches a seal for each partition. Engines seal the
 * journal, calls and state with it, `sealed-store.ts` what a store keeps, deltas their frames.
 *
 * 1. A sealed value opens under the partition and the purpose that it was sealed for, and nowhere else.
 * 2. A value that was changed does not open: `SealBrokenError`. Once its key is destroyed, it never opens again:
 *    `KeyDestroyedError`.
 * 3. What must be the same bytes on a replay has a nonce that is derived from its place and value; everything else has a
 *    random one.
 * 4. Content that must survive the key of its tree is sealed with the lasting key, and holds nothing that was to be erased.
 * 5. The newest key seals, every key of the ring opens: keys can be rotated without a stop.
 */

/** Bound to the partition alone. */
const unboundVersion = 1;
/** Bound to the partition and a purpose. */
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
 * Seals and opens the values of one partition. A sealed value is: version (1 byte), length of the key's id (1), the
 * id, nonce (12), AES-256-GCM of the value with the partition as additional data, tag (16). So what was sealed for
 * one partition cannot be passed off as another's, nor what was bound to one purpose as something else's. The version
 * says whether the additional data has a purpose: a value without one is of an older format where a purpose is expected.
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
    const first = keyOf(newest);
    const keys = [first, ...older.map(keyOf)].map((key) => [key.id.toString(), key] as const);
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

  /** The same, but what it seals stays readable once the partition's own key is destroyed. */
  get lasting(): AesSeal {
    if (this.#newest.isLasting) return this;
    const key = this.#keys.values().find(({ isLasting }) => isLasting);
    return key ? this.#with(key, this.#place, this.#purpose) : this;
  }

  /** The same, for values of one purpose: they do not open under another, for example another name of the state. */
  boundTo(purpose: string): AesSeal {
    return this.#with(this.#newest, this.#place, purpose);
  }

  #with(newest: Key, place: string | null, purpose: string | null): AesSeal {
    return new AesSeal({ partition: this.#partition, keys: this.#keys, newest, place, purpose });
  }

  /** @throws SealBrokenError; KeyDestroyedError if only what lasts can be opened any more. */
  open(sealed: Uint8Array): Uint8Array {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const id = idIn(bytes);
    if (id === null) throw this.#broken("not-sealed");
    const key = this.#keys.get(id);
    if (!key) throw this.#unknown();
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

  /** Whether the key that seals now has sealed this. */
  isNewest(sealed: Uint8Array): boolean {
    return idIn(Buffer.from(sealed)) === this.#newest.id.toString();
  }

  /**
   * For code that is replayed and whose bytes are compared with those of the first time: the same value at the same
   * place gives the same bytes, also after a new key was added, as long as `begun` (what the code began with) names
   * the key. The nonce is a keyed hash of place, purpose and value, so two different values never share one.
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

  #unknown(): Error {
    return this.isErased
      ? new KeyDestroyedError({ partition: this.#partition })
      : this.#broken("unknown-key");
  }

  #broken(reason: SealBrokenError["reason"]): SealBrokenError {
    return new SealBrokenError({ partition: this.#partition, reason });
  }
}

function keyOf({ id, secret, lasting = false }: KeyRing[number]): Key {
  const name = Buffer.from(id);
  if (name.length < 1 || name.length > 255 || secret.length !== 32)
    throw new TypeError("a sealing key has an id of 1 to 255 bytes and 32 secret ones");
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
