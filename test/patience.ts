import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { vi } from "vitest";
import { readProcessorTime, shareWithheld } from "./lost-time.ts";

// A test that takes a minute is taken to hang. A virtual machine whose host runs others takes longer for everything, so
// there the minute counts only the time in which the machine had its processors.

const file = join(import.meta.dirname, "../node_modules/.cache/reeve/processor-time.json");
const limitMs = 60_000;
const mostTimes = 6;

const now = readProcessorTime();
const before = readLast();
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, JSON.stringify(now));
/** The larger share: since the last file, or since boot. A host that withheld processors once may do it again. */
const withheld = Math.max(shareWithheld(before ?? now, now), shareWithheld({ wanted: 0, stolen: 0 }, now));
// What a host withholds changes while a file runs.
const times = withheld < 0.05 ? 1 : 2 / (1 - Math.min(withheld, 0.9));
const limit = Math.round(limitMs * Math.min(mostTimes, times));
const patience = Math.round((limit * 2) / 3);
process.env["REEVE_PATIENCE_MS"] = String(patience);
vi.setConfig({ testTimeout: limit, hookTimeout: limit, expect: { poll: { timeout: patience } } });

/** The reading of the test file that began before this one. Null: there is none. */
function readLast(): ReturnType<typeof readProcessorTime> | null {
  try {
    const last: ReturnType<typeof readProcessorTime> = JSON.parse(readFileSync(file, "utf8"));
    return last;
  } catch {
    return null;
  }
}
