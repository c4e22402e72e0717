import { readFileSync } from "node:fs";
import { Json } from "#kernel";
import { expect, test } from "vitest";
import { protocolNumber } from "../../src/tree/protocol-number.ts";
import { recordJournal, type GoldenJournal } from "./operations.ts";

const advice = `

The operations of runs have changed, so a run that began before cannot go on after an upgrade. If that is meant:
1. raise protocolNumber in src/runtime/protocol-number.ts (once between two releases),
2. keep the driver and the objects able to speak the previous number, and add an upgrade of stored values,
3. record the new journal: npm run golden.
`;

function goldenJournal(): GoldenJournal {
  const file = new URL(`protocol-${protocolNumber}.json`, import.meta.url);
  return Json.as<GoldenJournal>(Json.of(JSON.parse(readFileSync(file, "utf8"))));
}

test("runs make the operations that the golden journal of this protocol number holds", async () => {
  const golden = goldenJournal();
  const { sequences, shapes } = await recordJournal();
  for (const [scenario, runs] of Object.entries(sequences)) {
    const known = golden.sequences[scenario] ?? {};
    for (const [run, operations] of Object.entries(runs))
      if (operations.join() !== known[run]?.join())
        throw new Error(
          `run ${run} of "${scenario}" makes\n${operations.join("\n")}\ninstead of\n${known[run]?.join("\n")}${advice}`,
        );
  }
  expect(Object.keys(sequences)).toEqual(Object.keys(golden.sequences));
  const unknown = Object.entries(shapes).flatMap(([operation, paths]) =>
    paths.filter((path) => !golden.shapes[operation]?.includes(path)).map((path) => `${operation} ${path}`),
  );
  if (unknown.length > 0) throw new Error(`new in journals:\n${unknown.join("\n")}${advice}`);
}, 300_000);
