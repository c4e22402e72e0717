import * as fc from "fast-check";
import { type AuditEntry, type AuditHead, type KeyRing, TreeId } from "#kernel";
import { type AuditNote, ChainKeys } from "../../src/audit/chain.ts";
import type { AuditFault } from "../../src/audit/verify.ts";

const older = { id: "older", secret: new Uint8Array(32).fill(1) };
const newer = { id: "newer", secret: new Uint8Array(32).fill(2) };
export const ring: KeyRing = [newer, older];

/** The keys of a reader: both. */
export const keys = new ChainKeys("acme", ring);
const before = new ChainKeys("acme", [older]);
/** An attacker with everything but the key. */
const stranger = new ChainKeys("acme", [{ id: "newer", secret: new Uint8Array(32).fill(3) }]);

const note: fc.Arbitrary<Omit<AuditNote, "source">> = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom("spend", "spawn", "permission", "cancel"),
  data: fc.record({ tool: fc.string({ maxLength: 8 }), cost: fc.nat(), run: fc.record({ n: fc.nat() }) }),
});

const tree = TreeId.of("books");

/** The key was replaced somewhere on the way. */
function logOf(notes: readonly Omit<AuditNote, "source">[], replacedAt: number): readonly AuditEntry[] {
  const sourced = notes.map((each, seq) => ({ ...each, source: `${tree}/${seq}` }));
  const old = before.link(null, sourced.slice(0, replacedAt));
  return [...old, ...keys.link(old.at(-1) ?? null, sourced.slice(replacedAt))];
}

/** A chain of at least two links, and two places in it: the first below the second. */
export const logs = fc
  .tuple(fc.array(note, { minLength: 2, maxLength: 12 }), fc.nat(), fc.nat(), fc.nat())
  .map(([notes, replaced, a, b]) => {
    const log = logOf(notes, replaced % (notes.length + 1));
    const i = a % (log.length - 1);
    return { log, i, j: i + 1 + (b % (log.length - 1 - i)) };
  });

/** A change to a log, the position of the first fault and, if only one is possible, its kind. */
export interface Tampered {
  readonly log: readonly AuditEntry[];
  readonly kept: AuditHead | null;
  readonly at: number;
  readonly fault?: AuditFault;
}

const renumber = (log: readonly AuditEntry[]): readonly AuditEntry[] =>
  log.map((link, index) => ({ ...link, index }));

const flipText = (text: string, bit: number): string => {
  const at = bit % Math.max(1, text.length);
  return text.slice(0, at) + String.fromCharCode((text.charCodeAt(at) || 0) ^ 1) + text.slice(at + 1);
};

/** Flips one bit of one field. */
export function flip(link: AuditEntry, field: keyof AuditEntry, bit: number): AuditEntry {
  const value = link[field];
  if (typeof value === "number") return { ...link, [field]: value ^ (1 << (bit % 30)) };
  return { ...link, [field]: typeof value === "string" ? flipText(value, bit) : [value] };
}

export const fields = ["index", "at", "kind", "data", "source", "keyId", "previous", "hash"] as const;

/** All kinds of tampering, each with the position where it must be detected. */
export const mishaps: Readonly<
  Record<string, (log: readonly AuditEntry[], places: { readonly i: number; readonly j: number }) => Tampered>
> = {
  "a bit flipped": (log, { i, j }) => {
    const field = fields[(i + 3 * j) % fields.length] ?? "data";
    return { log: log.map((link, index) => (index === i ? flip(link, field, j) : link)), kept: null, at: i };
  },
  "a link deleted": (log, { i }) => ({ log: log.toSpliced(i, 1), kept: null, at: i, fault: "missing" }),
  "a link deleted and the rest numbered anew": (log, { i }) => ({
    log: renumber(log.toSpliced(i, 1)),
    kept: null,
    at: i,
  }),
  "a copy inserted": (log, { i, j }) => ({
    log: renumber(log.toSpliced(i, 0, ...log.slice(j, j + 1))),
    kept: null,
    at: i,
  }),
  "a link inserted that a stranger made": (log, { i }) => {
    const made = stranger.link(log[i - 1] ?? null, [
      { at: 1, kind: "spend", data: { cost: 0 }, source: "x" },
    ]);
    return { log: [...log.slice(0, i), ...made, ...log.slice(i)], kept: null, at: i, fault: "changed" };
  },
  "a link added that a stranger made": (log) => {
    const made = stranger.link(log.at(-1) ?? null, [{ at: 1, kind: "spend", data: null, source: "x" }]);
    return { log: [...log, ...made], kept: null, at: log.length, fault: "changed" };
  },
  "two links swapped": (log, { i, j }) => {
    const [one, other] = [log[i], log[j]];
    return { log: one && other ? log.with(i, other).with(j, one) : [], kept: null, at: i };
  },
  "two links swapped and numbered anew": (log, { i, j }) => {
    const [one, other] = [log[i], log[j]];
    return { log: renumber(one && other ? log.with(i, other).with(j, one) : []), kept: null, at: i };
  },
  "its end cut off": (log, { j }) => ({
    log: log.slice(0, j),
    kept: log.at(-1) ?? null,
    at: j,
    fault: "truncated",
  }),
  "all of it gone": (log) => ({ log: [], kept: log.at(-1) ?? null, at: 0, fault: "truncated" }),
  // By an attacker with the key, or by continuing from an old copy of the database.
  "another end grown": (log, { i, j }) => {
    const others = log.slice(i).map(({ at, kind, source }) => ({ at, kind, source, data: "another" }));
    const grown = keys.link(log[i - 1] ?? null, [
      ...others,
      { at: 9, kind: "spend", data: 1, source: "more" },
    ]);
    return { log: [...log.slice(0, i), ...grown], kept: log[j] ?? null, at: j, fault: "forked" };
  },
};
