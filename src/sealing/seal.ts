import {
  type KeyObject,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
} from "node:crypto";
import { KeyDestroyedError, type KeyRing, SealBrokenError } from "#kernel";

const version = 1;
const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

interface Key {
  readonly isLasting: boolean;
  readonly id: Buffer;
  readonly secret: KeyObject;
  readonly nonces: KeyObject;
}

/**
 * Seals and opens the values of one partition. A sealed value is: version (1 byte), length of the key's id (1), the
 * id, nonce (12), AES-256-GCM of the value with the partition as additional data, tag (16). So what was sealed for
 * one partition cannot be passed off as another's.
 */
export class Seal {
  readonly #partition: string;
  readonly #bound: Buffer;
  readonly #keys: ReadonlyMap<string, Key>;
  readonly #newest: Key;
  /** Null: every value gets a random nonce. */
  readonly #place: string | null;

  private constructor(partition: string, keys: ReadonlyMap<string, Key>, newest: Key, place: string | null) {
    this.#partition = partition;
    this.#bound = Buffer.from(partition);
    this.#keys = keys;
    this.#newest = newest;
    this.#place = place;
  }

  static of(partition: string, [newest, ...older]: KeyRing): Seal {
    const first = keyOf(newest);
    const keys = [first, ...older.map(keyOf)].map((key) => [key.id.toString(), key] as const);
    return new Seal(partition, new Map(keys), first, null);
  }

  seal(value: Uint8Array): Uint8Array {
    const { id, secret } = this.#newest;
    const nonce = this.#nonce(value);
    const sealing = createCipheriv(cipher, secret, nonce);
    sealing.setAAD(this.#bound);
    const head = Buffer.of(version, id.length);
    const parts = [head, id, nonce, sealing.update(value), sealing.final(), sealing.getAuthTag()];
    return Buffer.concat(parts);
  }

  /** The same, but what it seals stays readable once the partition's own key is destroyed. */
  get lasting(): Seal {
    if (this.#newest.isLasting) return this;
    const key = this.#keys.values().find(({ isLasting }) => isLasting);
    return key ? new Seal(this.#partition, this.#keys, key, this.#place) : this;
  }

  /** @throws SealBrokenError; KeyDestroyedError if only what lasts can be opened any more. */
  open(sealed: Uint8Array): Uint8Array {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const id = idIn(bytes);
    if (id === null) throw this.#broken("not-sealed");
    const key = this.#keys.get(id);
    if (!key) throw this.#unknown();
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

  /** Whether the key that seals now has sealed this. */
  isNewest(sealed: Uint8Array): boolean {
    return idIn(Buffer.from(sealed)) === this.#newest.id.toString();
  }

  /**
   * For code that is replayed and whose bytes are compared with those of the first time: the same value at the same
   * place gives the same bytes, also after a new key was added, as long as `begun` (what the code began with) names
   * the key. The nonce is a keyed hash of place and value, so two different values never share one.
   */
  repeatable(place: string, begun: Uint8Array): Seal {
    const key = this.#keys.get(idIn(Buffer.from(begun)) ?? "") ?? this.#newest;
    return new Seal(this.#partition, this.#keys, key, place);
  }

  #nonce(value: Uint8Array): Buffer {
    if (this.#place === null) return randomBytes(nonceBytes);
    const hash = createHmac("sha256", this.#newest.nonces);
    return hash.update(`${this.#place}\n`).update(value).digest().subarray(0, nonceBytes);
  }

  /** Was the partition's own key destroyed? */
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
  return {
    isLasting: lasting,
    id: name,
    secret: createSecretKey(secret),
    nonces: createSecretKey(nonces),
  };
}

function idIn(sealed: Buffer): string | null {
  const [first, length = 0] = sealed;
  const isWhole = length > 0 && sealed.length >= 2 + length + nonceBytes + tagBytes;
  return first === version && isWhole ? sealed.toString("utf8", 2, 2 + length) : null;
}
