import { readFile, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Scan } from "../history.ts";

/** A word is `secret-` or `word-` and twenty letters or digits. */
const secret = /(?:secret|word)-[A-Za-z0-9]{20}/g;

/** Searches for words that must not occur, and for names that must occur in each of the `places`. */
export async function scan(
  places: Readonly<Record<string, string>>,
  words: ReadonlySet<string>,
  name: string,
): Promise<Scan> {
  const leaks: { word: string; file: string }[] = [];
  const seen = new Set<string>();
  for (const [place, folder] of Object.entries(places)) {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((each) => each.isFile())) {
      const bytes = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0));
      if (bytes.includes(name)) seen.add(place);
      for (const word of wordsIn(bytes)) {
        if (words.has(word)) leaks.push({ word, file: `${place}: ${basename(entry.name)}` });
      }
    }
  }
  return { leaks, seen: [...seen], places: Object.keys(places) };
}

function wordsIn(bytes: Buffer): ReadonlySet<string> {
  if (!bytes.includes("secret-") && !bytes.includes("word-")) return new Set();
  return new Set(bytes.toString("latin1").match(secret));
}
