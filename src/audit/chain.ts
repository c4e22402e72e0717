import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import {
  type AuditCheck,
  type AuditEntry,
  type AuditHead,
  isJsonObject,
  type Json,
  type KeyRing,
} from "#kernel";

/** What a link tells, before it is part of a chain. */
export type AuditNote = Pick<AuditEntry, "at" | "kind" | "data" | "source">;

/** Why a link is not what follows the one before it. */
export type LinkFault =
  /** A link is not there. */
  | "missing"
  /** It follows another link than the one before it. */
  | "misplaced"
  /** It is not what was written, or was written by somebody without the key. */
  | "changed"
  /** Nobody has the key it names. */
  | "unknown-key";

/** The keys of one tenant's chain. They follow from those that seal, so whoever has the database alone has none. */
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

  /** The links that tell these, after a head. */
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

  /** What is wrong with a link that should follow this head; null if nothing is. */
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

  /** Its text begins otherwise than that of a link: neither passes for the other. */
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

/** The same text for the same value, whatever the order of its fields. */
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
