import { AgentId, ApprovalId, RunId, TreeId, type Json } from "reeve";
import { type ApprovalRecord } from "reeve/store";
import { expect, test } from "vitest";
import { plainPaint } from "../../src/cli/text/paint.ts";
import { approvalText } from "../../src/cli/views/approval-lines.ts";

/** Characters that hide text, reverse it, or erase terminal output. */
const spoofing = [
  0x00, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0d, 0x1b, 0x7f, 0x80, 0x85, 0x90, 0x9b, 0x9c, 0x9d, 0xa0, 0xad, 0x34f,
  0x61c, 0x115f, 0x1160, 0x1680, 0x17b4, 0x180e, 0x2000, 0x2003, 0x200a, 0x200b, 0x200c, 0x200d, 0x200e,
  0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x202f, 0x205f, 0x2060, 0x2063, 0x2066,
  0x2067, 0x2068, 0x2069, 0x2800, 0x3000, 0x3164, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xfffe, 0xe000, 0xe0001,
  0xe0041, 0xe007f, 0xe0100, 0xd800, 0xdfff,
].map((code) => String.fromCodePoint(code));

function approverView(fields: Partial<ApprovalRecord>): string {
  const treeId = TreeId.of("report");
  const record: ApprovalRecord = {
    id: ApprovalId.parse("report~0:tool:12"),
    treeId,
    runId: RunId.root(treeId),
    agentId: AgentId.of("writer"),
    tool: "pay",
    risk: "critical",
    arguments: null,
    why: "policy",
    hash: "h",
    requestedAt: 0,
    expiresAt: 1_000,
    spentMicros: 0,
    decision: null,
    ...fields,
  };
  return approvalText(record, { now: 1_000, width: 10_000, paint: plainPaint }).join("\n");
}

/** Whether the text names the character, by its number or as an escape of JSON. */
const isNamed = (text: string, character: string): boolean => {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  const escapes = [JSON.stringify(character).slice(1, -1), `\\u${code.padStart(4, "0")}`];
  return (
    text.includes(`⟨U+${code.toUpperCase().padStart(4, "0")} `) ||
    escapes.some((escape) => escape !== character && text.includes(escape))
  );
};

test("invisible characters are named in every view of an approver", () => {
  expect(new Set(spoofing).size).toBeGreaterThanOrEqual(50);
  for (const character of spoofing) {
    const text = `pay ACME${character}LIVE`;
    const places: readonly Partial<ApprovalRecord>[] = [
      { arguments: { to: text } },
      { arguments: { [text]: 1 } },
      { arguments: text },
      { arguments: { deep: [{ [text]: [text] }] } },
      { arguments: { question: text, choices: [text] }, asks: true },
      { tool: text },
      { why: text },
      { decision: { decision: "denied", by: text, at: 1 } },
    ];
    for (const fields of places) {
      const lines = approverView(fields);
      expect.soft(lines.replaceAll("\n", ""), JSON.stringify(fields)).not.toContain(character);
      expect.soft(isNamed(lines, character), JSON.stringify(fields)).toBe(true);
    }
  }
});

test("nothing is left out of the middle of an argument, and its length is shown", () => {
  const long = `${"a".repeat(50_000)}, and also EVIL, ${"b".repeat(50_000)}`;
  const given: Json = { memo: long, amount: 1 };
  const text = approverView({ arguments: given });
  expect(text).toContain(`memo (${long.length + 2} characters):`);
  expect(text.replaceAll(/\n {2,4}/gu, "")).toContain(JSON.stringify(long));
});
