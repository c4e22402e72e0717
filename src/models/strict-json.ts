import { copyJson, hasInexactNumber } from "#base";
import { Json, type MalformedReason } from "#kernel";

const mostBytes = 1_000_000;
const mostDepth = 64;
const mostKeys = 10_000;

/** A value, or why there is none. */
export type StrictJson = { readonly value: Json } | { readonly malformed: MalformedReason };

/**
 * Parses JSON that is unambiguous: no duplicate keys, no keys that change a prototype, no lone surrogates, no numbers
 * that a round trip would change. Limits size, depth and number of keys. Linear in the text; never throws.
 */
export function strictJson(text: string): StrictJson {
  if (text.length > mostBytes || Buffer.byteLength(text) > mostBytes) return { malformed: "too-large" };
  if (!text.isWellFormed()) return { malformed: "broken-text" };
  let value: Json;
  try {
    value = Json.of(JSON.parse(text));
  } catch {
    return { malformed: "not-json" };
  }
  const malformed = ambiguityIn(text) ?? (hasInexactNumber(text) ? "inexact-number" : null);
  if (malformed) return { malformed };
  // A journal has no negative zero.
  return { value: text.includes("-") ? copyJson(value) : value };
}

/** Returns the ambiguity of a valid JSON text. Null if there is none. */
function ambiguityIn(text: string): MalformedReason | null {
  /** The keys of every open object, null for an open list. */
  const open: (Set<string> | null)[] = [];
  let isKey = false;
  let keys = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charAt(at)) {
      case "{":
      case "[":
        if (open.length === mostDepth) return "too-deep";
        open.push(text[at] === "{" ? new Set() : null);
        isKey = text[at] === "{";
        break;
      case "}":
      case "]":
        open.pop();
        break;
      case ",":
        isKey = open.at(-1) !== null;
        break;
      case '"': {
        if (isKey && (keys += 1) > mostKeys) return "too-many-keys";
        const { end, hasEscape } = findTextEnd(text, at);
        const quoted = isKey || hasEscape ? text.slice(at, end + 1) : "";
        const wrong = isKey ? wrongKey(quoted, open.at(-1)) : wrongText(quoted);
        if (wrong) return wrong;
        isKey = false;
        at = end;
        break;
      }
      default:
    }
  }
  return null;
}

/** Returns the position of the closing quote, and whether there are numeric escapes. */
function findTextEnd(text: string, from: number): { readonly end: number; readonly hasEscape: boolean } {
  let hasEscape = false;
  let at = from + 1;
  while (text[at] !== '"') {
    const isEscape = text[at] === "\\";
    hasEscape ||= isEscape && text[at + 1] === "u";
    at += isEscape ? 2 : 1;
  }
  return { end: at, hasEscape };
}

function wrongKey(quoted: string, known: Set<string> | null | undefined): MalformedReason | null {
  const key = unquote(quoted);
  if (!key.isWellFormed()) return "broken-text";
  if (key === "__proto__") return "poisoned-key";
  if (known?.has(key)) return "duplicate-key";
  known?.add(key);
  return null;
}

/** Only an escape can produce a lone surrogate, so text without escapes is not checked. */
const wrongText = (quoted: string): MalformedReason | null =>
  unquote(quoted).isWellFormed() ? null : "broken-text";

const unquote = (quoted: string): string =>
  quoted.includes("\\") ? Json.as<string>(Json.of(JSON.parse(quoted))) : quoted.slice(1, -1);
