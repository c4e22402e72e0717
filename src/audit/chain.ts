import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import {
  type AuditCheck,
  type AuditEntry,
  type AuditHead,
  isJsonObject,
  type Json,
  type KeyRing,
} from "#kernel";

/** The content of a link before it is part of a chain. */
export type AuditNote = Pick<AuditEntry, "at" | "kind" | "data" | "source">;

/** Why a link is not what follows the one before it. */
export type LinkFault =
  /** A link is not there. */
  | "missing"
  /** It follows another link than the one before it. */
  | "misplaced"
  /** The link differs from what was written, or was written without the key. */
  | "changed"
  /** The key it names is not available. */
  | "unknown-key";

/**
 * The keys of one tenant's chain, derived from the sealing keys, so the database alone is not enough to forge links.
 */
export class ChainKeys {
  readonly #newest: string;
  readonly #secrets: ReadonlyMap<string, KeyObject>;

  constructor(partition: string, ring: KeyRing) {
    this.#newest = ring[0].id;
    const derived = ring.map(({ id, secret }) => {
      const key = hkdfSync("sha256", secret, "", `reeve audit 1\n${partition}`, 32);
      return [id, createSecretKey(new Uint8Array(key))] as const;
    });
    this.#secrets = new Map(derived);
  }

  /** Returns the links for these notes, after a head. */
  link(head: AuditHead | null, notes: readonly AuditNote[]): readonly AuditEntry[] {
    let last = head;
    return notes.map((note) => {
      const index = (last?.index ?? -1) + 1;
      const open = { ...note, index, keyId: this.#newest, previous: last?.hash ?? "" };
      const link = { ...open, hash: this.#hash(open) ?? "" };
      last = link;
      return link;
    });
  }

  /** Returns the fault of a link that should follow this head. Null if it has none. */
  faultOf(link: AuditEntry, head: AuditHead | null): LinkFault | null {
    const index = (head?.index ?? -1) + 1;
    if (link.index > index) return "missing";
    if (link.index < index || link.previous !== (head?.hash ?? "")) return "misplaced";
    const hash = this.#hash(link);
    if (hash === null) return "unknown-key";
    return hash === link.hash ? null : "changed";
  }

  /** The outcome of a check, so that only a holder of the key can have written it. */
  signCheck(at: number, body: Json): AuditCheck {
    const open = { at, body, keyId: this.#newest };
    return { ...open, hash: this.#hashCheck(open) ?? "" };
  }

  isSigned(check: AuditCheck): boolean {
    return this.#hashCheck(check) === check.hash;
  }

  /** The hashed text has another prefix than a link's, so neither can be used as the other. */
  #hashCheck({ at, body, keyId }: Omit<AuditCheck, "hash">): string | null {
    return this.#hashText(keyId, `check ${canonical([at, body, keyId])}`);
  }

  /** Null without the key. */
  #hash({ index, at, kind, data, source, keyId, previous }: Omit<AuditEntry, "hash">): string | null {
    return this.#hashText(keyId, canonical([index, at, kind, data, source, keyId, previous]));
  }

  #hashText(keyId: string, text: string): string | null {
    const secret = this.#secrets.get(keyId);
    return secret ? createHmac("sha256", secret).update(text).digest("base64url") : null;
  }
}

/** Returns the same text for equal values, regardless of field order. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value).toSorted();
  const told = fields.flatMap((name) => {
    const field = value[name];
    return field === undefined ? [] : [`${JSON.stringify(name)}:${canonical(field)}`];
  });
  return `{${told.join()}}`;
}
