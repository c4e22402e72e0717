import { readFileSync } from "node:fs";
import { Json } from "#kernel";
import { expect, test } from "vitest";
import { protocolNumber } from "../../src/tree/protocol-number.ts";
import { recordJournal, recordPrevious, type GoldenJournal } from "./operations.ts";

const advice = `

The operations of runs have changed, so a run that began before cannot go on after an upgrade. If that is meant:
1. raise protocolNumber in src/tree/protocol-number.ts (once between two releases),
2. convert calls and stored values of the previous number in src/tree/previous-protocol.ts,
3. record the new journal: npm run golden.
`;

function goldenJournal(number: number): GoldenJournal {
  const file = new URL(`protocol-${number}.json`, import.meta.url);
  return Json.as<GoldenJournal>(Json.of(JSON.parse(readFileSync(file, "utf8"))));
}

test("runs make the operations that the golden journal of this protocol number holds", async () => {
  const golden = goldenJournal(protocolNumber);
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
});

test("runs that the previous release has launched make the operations of its golden journal", async () => {
  expect(await recordPrevious()).toEqual(goldenJournal(protocolNumber - 1).sequences);
});
