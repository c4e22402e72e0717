import { agent, tool, type Json, ApprovalId, AgentId, RunId, TreeId } from "reeve";
import type { ApprovalRecord } from "reeve/store";
import { call, say, scriptedModel } from "reeve/testing";
import { stripVTControlCharacters } from "node:util";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { main } from "../../src/cli/program.ts";
import { Speech } from "../../src/cli/live/speech.ts";
import { paintFor, plainPaint } from "../../src/cli/text/paint.ts";
import { widthOf } from "../../src/cli/text/width.ts";
import { approvalText } from "../../src/cli/views/approval-lines.ts";
import { watchLines } from "../../src/cli/watch/watch-lines.ts";
import { atFirst } from "../../src/cli/watch/watch-state.ts";
import { screenOf } from "./screen-of.ts";
import { CliServer } from "./cli-server.ts";

/** Returns a call that waits for approval. */
function createRequest(given: Json): ApprovalRecord {
  const treeId = TreeId.of("report");
  return {
    id: ApprovalId.parse("report~0:tool:12"),
    treeId,
    runId: RunId.root(treeId),
    agentId: AgentId.of("writer"),
    tool: "pay",
    risk: "critical",
    arguments: given,
    why: "policy",
    hash: "h",
    requestedAt: 0,
    expiresAt: new Date(2026, 10, 22, 9).getTime(),
    spentMicros: 0,
    decision: null,
  };
}

/** Returns the screen of an approver, at 100 columns. */
const approverScreen = (given: Json): readonly string[] =>
  approvalText(createRequest(given), { now: 1_000, width: 100, paint: plainPaint });

test("an approver sees every argument in full", () => {
  const memo = "office supplies, paper and pens ".repeat(9);
  const lines = approverScreen({
    memo,
    to: "ACME",
    iban: "DE00 EVIL",
    amount: 1_000_000,
    more: { deep: [1, null] },
  });
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(100);
  expect(lines.slice(0, 3)).toEqual([
    "report~0:tool:12  writer wants to call pay · risk critical",
    "  pending for 1.0s, denied on 2026-11-22 09:00:00",
    "  policy",
  ]);
  const [, , , first = "", ...rest] = lines;
  const memoLines = rest.filter((line) => line.startsWith("    "));
  expect(first.slice(2) + memoLines.map((line) => line.slice(4)).join("")).toBe(
    `memo (${memo.length + 2} characters): ${JSON.stringify(memo)}`,
  );
  expect(lines.slice(-4)).toEqual([
    '  to: "ACME"',
    '  iban: "DE00 EVIL"',
    "  amount: 1000000",
    '  more: {"deep":[1,null]}',
  ]);
});

test.each([
  ["a\u202Eexe.txt", '"a⟨U+202E right-to-left override⟩exe.txt"'],
  ["a\u009B2Kb", '"a⟨U+009B control⟩2Kb"'],
  ["\uFEFFa", '"⟨U+FEFF byte order mark⟩a"'],
  ["pay\u200Bpal.com", '"pay⟨U+200B zero-width space⟩pal.com"'],
  ["a\u{E0041}\u{E0042}b", '"a⟨U+E0041 tag A⟩⟨U+E0042 tag B⟩b"'],
  ["a\u00A0b\u3164c\uFE0Fd", '"a⟨U+00A0 no-break space⟩b⟨U+3164 invisible⟩c⟨U+FE0F invisible⟩d"'],
  ["a\u2066b\u2069\u00AD", '"a⟨U+2066 left-to-right isolate⟩b⟨U+2069 end of isolate⟩⟨U+00AD soft hyphen⟩"'],
  ["p\u0430ypal.com to Anna", '"p\u0430ypal.com⟨\u0430 is Cyrillic U+0430⟩ to Anna"'],
  ["\u0410\u043D\u043D\u0430 \u03A9", '"\u0410\u043D\u043D\u0430 \u03A9"'],
  ["line 1\nline 2\u001B[2K", String.raw`"line 1\nline 2\u001b[2K"`],
  ["Grüße, 世界 ✓", '"Grüße, 世界 ✓"'],
])("characters that a terminal does not show, and look-alike letters, are named: %j", (to, text) => {
  expect(approverScreen({ to }).at(-1)).toBe(`  to: ${text}`);
  expect(approverScreen({ [to]: 1 }).at(-1)).not.toMatch(/[\p{Cf}\p{Cc}]/u);
});

const pay = tool({
  name: "pay",
  description: "Pay",
  input: z.object({ to: z.string() }),
  risk: "high",
  execute: async ({ to }) => `paid ${to}`,
});

/** An agent that asks for approval of two payments at once. */
const payer = () =>
  agent({
    name: "payer",
    model: scriptedModel([call("pay", { to: "ACME" }, ["pay", { to: "EVIL" }]), say("paid")]),
    tools: [pay],
  });

test("approve shows the approved call and sends its hash", async () => {
  await using server = await CliServer.open();
  void server.reeve("run", "lead", "publish", "--id", "t1");
  await server.waitForApproval("t1");
  const { items } = await server.runtime.approvals.list({}, { size: 10 });
  const decide = vi.spyOn(server.runtime.approvals, "decide");
  const { said } = await server.reeve("approve", "t1");
  expect(said).toMatch(
    /^t1~0:tool:2 {2}lead wants to call publish · risk high · pending for .*\n.*\n {2}report: "heat pumps"\napproved t1~0:tool:2\n$/,
  );
  expect(decide.mock.calls[0]?.[1]).toMatchObject({ decision: "approved", hash: items[0]?.hash });
  expect(await server.reeve("deny", "t1~0:tool:2")).toMatchObject({ code: 5 });
});

test("a call is made with edited arguments, and the original request is shown before", async () => {
  await using server = await CliServer.open();
  const running = server.reeve("run", "lead", "publish", "--id", "t1");
  await server.waitForApproval("t1");
  const { code, said } = await server.reeve(
    "edit",
    "t1",
    '{"report":"prices"}',
    "--reason",
    "heat pumps are published",
  );
  expect(code).toBe(0);
  expect(said).toMatch(/ {2}report: "heat pumps"\nedited t1~0:tool:2\n$/);
  await running;
  const { items } = await server.runtime.approvals.list({}, { size: 10 });
  expect(items[0]?.decision).toMatchObject({ decision: "edited", arguments: { report: "prices" } });
});

test("a tree in which several calls wait is answered with all of them, and none is decided", async () => {
  await using server = await CliServer.open({ agents: [payer()] });
  void server.reeve("run", "payer", "pay", "--id", "t1");
  await expect.poll(async () => (await server.runtime.approvals.list({}, { size: 10 })).items.length).toBe(2);
  const refused = await server.reeve("approve", "t1");
  expect(refused.code).toBe(2);
  expect(refused.said).toContain('\n  to: "ACME"\n');
  expect(refused.said).toContain('\n  to: "EVIL"\n');
  expect(refused.complained).toMatch(
    /^reeve: 2 calls wait for approval in t1: give the id of one approval\n {2}→ reeve approve t1~0:/,
  );
  const { items } = await server.runtime.approvals.list({ state: "pending" }, { size: 10 });
  expect(items).toHaveLength(2);
  await server.reeve("cancel", "t1");
});

test("a watcher sees the whole call before it is approved", async () => {
  await using server = await CliServer.open();
  const running = server.reeve("run", "lead", "publish", "--id", "t1");
  await server.waitForApproval("t1");
  const terminal = server.terminal({ isTTY: true, environment: { NO_COLOR: "1" } });
  const watching = main(["watch", "t1"], terminal);
  const screen = (): string => screenOf(terminal.said).join("\n");
  await expect.poll(screen).toContain("needs approval: publish");
  terminal.type("a");
  await expect.poll(screen).toContain('  report: "heat pumps"\napprove t1~0:tool:2? y / n');
  terminal.type("n");
  await expect.poll(screen).toContain("needs approval: publish");
  terminal.type("a");
  await expect.poll(screen).toContain("approve t1~0:tool:2? y / n");
  terminal.type("y");
  expect((await running).code).toBe(0);
  terminal.type("q");
  await watching;
});

test("a watcher cannot approve a call that the screen does not show in full", async () => {
  const model = scriptedModel([call("pay", { to: "x".repeat(2_000) }), say("paid")]);
  await using server = await CliServer.open({ agents: [agent({ name: "payer", model, tools: [pay] })] });
  void server.reeve("run", "payer", "pay", "--id", "t1");
  await server.waitForApproval("t1");
  const terminal = server.terminal({ isTTY: true, environment: { NO_COLOR: "1" } });
  const watching = main(["watch", "t1"], terminal);
  const screen = (): string => screenOf(terminal.said).join("\n");
  await expect.poll(screen).toContain("needs approval: pay");
  terminal.type("a");
  await expect.poll(screen).toContain("too long for this screen: leave with q, and approve t1~0:tool:2 on");
  terminal.type("y");
  await expect.poll(screen).toContain("needs approval: pay");
  terminal.type("q");
  await watching;
  const { items } = await server.runtime.approvals.list({ state: "pending" }, { size: 10 });
  expect(items).toHaveLength(1);
  await server.reeve("cancel", "t1");
});

test("a watcher reads the whole headline and reason of a call, in colour and on a narrow screen", () => {
  const why = `it sends data out, and ${"this run has seen untrusted and private content, ".repeat(3)}so a person decides`;
  const record = { ...createRequest({ to: "ACME" }), why };
  const lines = watchLines(
    { root: null, caps: { tree: null, runs: new Map() }, speech: new Speech() },
    { ...atFirst, prompt: { kind: "approve", record } },
    { width: 60, height: 40, now: 1_000, paint: paintFor(true, {}) },
  ).map((line) => stripVTControlCharacters(line));
  expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(60);
  const text = lines.map((line) => line.trim()).join(" ");
  expect(text).toContain(why);
  expect(text).toMatch(/writer wants to call pay · risk critical pending for .*, denied on \d{4}-/);
});
