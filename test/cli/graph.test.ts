import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../src/cli/program.ts";
import { FakeTerminal } from "./fake-terminal.ts";

const draw = async (...words: readonly string[]): Promise<string> => {
  const terminal = new FakeTerminal({ folder: join(import.meta.dirname, "fixtures") });
  const code = await main(["graph", "--file", "graph-agents.ts", ...words], terminal);
  return code === 0 ? terminal.said : `${code} ${terminal.complained}`;
};

test("a program is drawn as a tree: teams, workers of architectures, steps of flows, handoffs", async () => {
  expect(await draw()).toBe(
    [
      "desk",
      "└ hands off to billing",
      "  └ hands off to desk",
      "lead",
      "└ writer",
      "report (sequence)",
      "├ research",
      "├ flow parallel",
      "│ ├ panel (debate)",
      "│ │ ├ optimist",
      "│ │ └ sceptic",
      "│ └ optimist, see above",
      "└ code shorten",
      "",
    ].join("\n"),
  );
});

test("one agent is drawn as Mermaid and as JSON", async () => {
  expect(await draw("report", "--mermaid")).toBe(
    [
      "flowchart TD",
      '  n1["report (sequence)"]',
      '  n2["research"]',
      "  n1 --> n2",
      '  n3{{"flow parallel"}}',
      '  n4["panel (debate)"]',
      '  n5["optimist"]',
      "  n4 --> n5",
      '  n6["sceptic"]',
      "  n4 --> n6",
      "  n3 --> n4",
      "  n3 --> n5",
      "  n1 --> n3",
      '  n7(["code shorten"])',
      "  n1 --> n7",
      "",
    ].join("\n"),
  );
  expect(JSON.parse(await draw("lead", "--json"))).toEqual({
    kind: "agent",
    name: "lead",
    parts: [{ kind: "agent", name: "writer", parts: [] }],
  });
});

test("a handoff is drawn as a dotted line, in both directions", async () => {
  expect(await draw("desk", "--mermaid")).toBe(
    [
      "flowchart TD",
      '  n1["desk"]',
      '  n2["billing"]',
      "  n2 -. handoff .-> n1",
      "  n1 -. handoff .-> n2",
      "",
    ].join("\n"),
  );
});

test("an agent that the file does not export is not found", async () => {
  expect(await draw("unknown")).toMatch(/^4 .*exports no agent unknown[^]*desk, lead, report/);
});
