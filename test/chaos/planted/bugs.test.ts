import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bugs, plantBug } from "./bugs.ts";

// A worker that cannot be loaded would keep a campaign waiting.
test.each(bugs.map((bug) => [bug.predicate, bug] as const))("the bug for %s can be planted", (_, bug) => {
  const source = readFileSync(join(import.meta.dirname, "../../../src", bug.file), "utf8");
  expect(plantBug(source, bug)).not.toBe(source);
});
