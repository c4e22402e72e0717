import assert from "node:assert/strict";
import * as fc from "fast-check";
import { exportSession, getPromptWindow, importSession, type Session } from "reeve/store";
import { expect, test } from "vitest";
import { id, idsOf, talk } from "./talk.ts";
import { assertPaired } from "./window-rules.ts";
import { propertyRuns } from "../../effort.ts";

const numRuns = propertyRuns(5_000);

const name = fc.constantFrom("a", "b", "c", "d", "e", "__proto__");
const junk = { weight: 1, arbitrary: fc.jsonValue() };
const mostly = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.oneof({ weight: 15, arbitrary }, junk);
const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text: fc.string() }),
  fc.record({ type: fc.constant("tool-call"), callId: name, name, input: fc.jsonValue() }),
  fc.record({
    type: fc.constant("tool-result"),
    callId: name,
    name,
    content: fc.constant([]),
    isError: fc.boolean(),
  }),
  fc.jsonValue(),
);
const message = fc.record({
  role: fc.constantFrom("user", "assistant", "tool", "system", "unknown"),
  content: mostly(fc.array(block, { maxLength: 3 })),
});
const entry = fc
  .record({
    id: mostly(name),
    parentId: mostly(fc.oneof(name, name, fc.constantFrom(null, "gone"))),
    at: mostly(fc.nat()),
    branch: mostly(fc.constantFrom(null, null, null, "books~1", "books~2")),
    type: fc.constantFrom(
      "message",
      "message",
      "message",
      "compaction",
      "branch",
      "label",
      "custom",
      "hologram",
    ),
    message,
    summary: fc.string(),
    keptFrom: name,
    tokensBefore: fc.nat(),
    from: name,
    target: name,
    label: fc.option(fc.string()),
    kind: fc.string(),
    data: fc.jsonValue(),
  })
  .map((fields) => JSON.stringify(fields));
const header = fc.record({ type: fc.constant("session"), leaf: mostly(name) });
const line = fc.oneof(
  { weight: 10, arbitrary: entry },
  { weight: 1, arbitrary: header.map((fields) => JSON.stringify(fields)) },
  { weight: 1, arbitrary: fc.string() },
  { weight: 1, arbitrary: fc.tuple(entry, fc.nat(200)).map(([text, end]) => text.slice(0, end)) },
);

async function fileOf(session: Session): Promise<string> {
  let file = "";
  for await (const text of exportSession(session)) file += text;
  return file;
}

test(`${numRuns} files of random lines are imported, read in full, and unchanged by another export and import`, async () => {
  let imported = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 15, size: "max" }), async (lines) => {
      const session = await talk();
      const report = await importSession(session, [lines.join("\n")]);
      imported += report.imported;
      const all = await idsOf(session.entries());
      assert.equal(all.length, report.imported);
      for (const each of all) {
        const path = session.path(id(each));
        let root: string | null = each;
        for await (const step of path) root = step.parentId;
        assert.equal(root, null, "a path that does not end at a root");
      }
      assertPaired(await getPromptWindow(session));
      for await (const step of session.path()) assert.equal(step.branch, null);
      const file = await fileOf(session);
      const copy = await talk();
      const again = await importSession(copy, [file]);
      assert.deepEqual([again.imported, again.skipped, again.duplicates], [report.imported, 0, 0]);
      assert.deepEqual(await idsOf(copy.path()), await idsOf(session.path()));
      assert.equal(await fileOf(copy), file);
    }),
    { numRuns },
  );
  expect(imported).toBeGreaterThan(2 * numRuns);
});
