import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sourceBugs } from "../../simulation/source-bugs.ts";
import { bugs, plantBug } from "./bugs.ts";

// A worker that cannot be loaded would keep a campaign waiting, and a change of the source is seen before any campaign.
test.each([...bugs, ...sourceBugs])("this bug can be planted: $what", (bug) => {
  const source = readFileSync(join(import.meta.dirname, "../../../src", bug.file), "utf8");
  expect(plantBug(source, bug)).not.toBe(source);
});
