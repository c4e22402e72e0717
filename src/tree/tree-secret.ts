import { createHmac, createSecretKey, randomBytes, type KeyObject } from "node:crypto";
import type { RunId, StepId } from "#kernel";

/**
 * A tree's secret: 128 random bits, base64url. The runtime that starts a tree creates it. The tree stores it and passes
 * it to each run with its launch. It is in no event, no list and no plain text.
 *
 * 1. Every key and number of a run is a keyed hash of its position, so a replay and a retry get the same ones.
 * 2. Ids are public and may be equal in two tenants. Without the secret, no key can be computed from them.
 */
export type TreeSecret = string;

const toSecretKey = (secret: TreeSecret): KeyObject => createSecretKey(secret, "base64url");

const bytes = (key: KeyObject, place: string): Buffer => createHmac("sha256", key).update(place).digest();

/** Creates and uses the secret of a tree. */
export const TreeSecret = {
  mint: (): TreeSecret => randomBytes(16).toString("base64url"),
  /** Returns the idempotency key of a step's effect, for services that support such keys. */
  idempotencyKey: (secret: TreeSecret, step: StepId): string =>
    bytes(toSecretKey(secret), `step/${step}`).toString("base64url"),
  /** Returns the keyed hash of a text. It is the same in all runs of the tree. */
  keyedHash: (secret: TreeSecret, text: string): string =>
    bytes(toSecretKey(secret), `text/${text}`).toString("base64url"),
};

/** The random numbers and UUIDs of one execution of a run: the same on every replay, one hash for each. */
export class RunRandom {
  readonly #secret: TreeSecret;
  /** Created at the first use, because most runs need none. */
  #key: KeyObject | null = null;
  readonly #place: string;
  #made = 0;

  constructor(secret: TreeSecret, run: RunId, continuation: number) {
    this.#secret = secret;
    this.#place = `random/${run}/${continuation}`;
  }

  /** Returns a number from 0 to below 1. */
  number(): number {
    return this.#drawBytes().readUIntBE(0, 6) / 2 ** 48;
  }

  /** Returns a version 4 UUID. */
  uuid(): string {
    const hex = this.#drawBytes().toString("hex", 0, 16).split("");
    hex[12] = "4";
    hex[16] = "89ab".charAt(Number.parseInt(hex[16] ?? "0", 16) % 4);
    const text = hex.join("");
    const parts = [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20)];
    return [...parts, text.slice(20)].join("-");
  }

  #drawBytes(): Buffer {
    this.#made += 1;
    this.#key ??= toSecretKey(this.#secret);
    return bytes(this.#key, `${this.#place}/${this.#made}`);
  }
}
