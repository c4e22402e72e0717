import { expect, test } from "vitest";
import { devLines } from "../../src/cli/dev/dev-screen.ts";
import { widthOf } from "../../src/cli/text/width.ts";
import { FakeTerminal } from "./fake-terminal.ts";

const place = {
  file: "/home/ada/demo/agents.ts",
  url: "http://127.0.0.1:7433",
  admin: "http://127.0.0.1:9070",
};
const state = {
  number: 4,
  phase: "ready",
  since: new Date(2026, 10, 15, 9).getTime(),
  agents: ["lead", "researcher"],
  alive: 3,
  pid: 7,
  failure: null,
} as const;

const screenWith = (change: object): string =>
  devLines(place, { ...state, ...change }, new FakeTerminal()).join("\n");

test("one screen shows the address, the agents and the live runs", () => {
  expect(screenWith({})).toMatchInlineSnapshot(`
    "reeve dev · /home/ada/demo/agents.ts
      dashboard  http://127.0.0.1:7433/ui   (press o)
      server     http://127.0.0.1:7433
      restate    http://127.0.0.1:9070
      agents     lead, researcher
      build      4, since 2026-11-15 09:00:00, 2 older still running

      try: reeve run lead "..." · Ctrl-C stops everything; runs continue on the nex…"
  `);
});

test("the screen shows code that does not load, and that the previous build still serves", () => {
  const failure = `ReferenceError: missing is not defined\n    at ${"far/".repeat(40)}agents.ts:3:7`;
  const text = screenWith({ failure });
  expect(text).toContain(
    "the newest code does not load; the previous build still serves:\n  ReferenceError: missing",
  );
  for (const line of text.split("\n")) expect(widthOf(line)).toBeLessThanOrEqual(80);
});
