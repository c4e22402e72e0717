import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answers, call, fakeProvider } from "reeve/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { quickenDemo } from "../quick-demo.ts";
import { packBeside } from "./packed.ts";
import { supportedPlatforms } from "./platform.ts";
import { readme } from "./readme.ts";
import { type Command, installMs, Terminal } from "./terminal.ts";

const ready = "ready: lead, researcher, reviewer, writer";
const platforms = await supportedPlatforms();

test("the README builds the package as these tests do", () => {
  expect(readme.build).toEqual(["npm ci --ignore-scripts && npm run build && npm pack ./package"]);
  expect(readme.rest).toEqual([]);
});

/** The end of a run: its status, then a line for each agent. */
const receipt = /✓ completed: answered[\s\S]*lead +✓ completed[\s\S]*researcher[\s\S]*writer/;

describe.each(platforms)("on $name, from an empty folder, line by line,", (platform) => {
  let top = "";
  let first: Terminal;
  const terminals: Terminal[] = [];

  beforeAll(async () => {
    const packed = await packBeside("first");
    top = packed.top;
    first = new Terminal(platform, packed.folder);
    terminals.push(first);
  });

  afterAll(async () => {
    for (const terminal of terminals) await terminal.close();
    rmSync(top, { recursive: true, force: true, maxRetries: 3 });
  });

  test("the package installs", { timeout: installMs }, async () => {
    for (const line of readme.install) expect(await first.run(line)).not.toMatch(/EBADENGINE|ERR!/);
  });

  test("the first program runs, without a warning, and prints the receipt of the README", async () => {
    writeFileSync(join(first.folder, "app.ts"), readme.program);
    let printed = "";
    for (const line of readme.start) printed += await first.run(line);
    expect(printed).toMatch(/^1 lead run\.start\n/);
    expect(printed).toContain("\n40 lead run.end\n");
    expect(printed).toContain("Lisbon has 575,739 inhabitants.");
    expect(cellsOf(printed)).toEqual(cellsOf(readme.receipt));
  });

  test("changing two lines switches to a real model", async () => {
    const script = answers([call("ask_researcher", { task: "Find out" }), "575,739", "575,739 people."]);
    await using provider = await fakeProvider({ script });
    writeFileSync(join(first.folder, "real.ts"), withRealModel());
    const key = { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: provider.baseURL };
    expect(await first.run("node real.ts", key)).toContain("575,739 people.");
    expect(provider.bill.entries).toHaveLength(3);
  });

  test("a new project installs", { timeout: installMs }, async () => {
    for (const line of readme.project.slice(0, -1))
      expect(await first.run(line)).not.toMatch(/EBADENGINE|ERR!/);
    quickenDemo(first.folder);
  });

  test("a run survives a stop of reeve dev, and a person approves it", async () => {
    const inTeam = (): Terminal => {
      const terminal = new Terminal(platform, first.folder);
      terminals.push(terminal);
      return terminal;
    };
    const serve = readme.project.at(-1) ?? "";
    const dev = first.start(serve);
    await dev.prints(ready);
    const run = inTeam().start(readme.run[0] ?? "");
    await run.prints("writer: waiting for approval of send_email");
    await dev.interrupt();
    await first.start(serve).prints(ready);

    await approve(inTeam(), run);
  });
});

/** Types the lines of the README that approve its run, and expects the end of that run. */
async function approve(person: Terminal, run: Command): Promise<void> {
  const printed: string[] = [];
  for (const line of readme.approve) printed.push(await person.run(line));
  expect(printed.join("")).toMatch(
    /writer: waiting .* for approval of send_email\n[\s\S]*approved report~6:tool:6/,
  );
  expect(await run.exitCode()).toBe(0);
  expect(run.printed).toMatch(receipt);
  expect(run.printed).toContain("E-mail sent to team@example.com.");
}

/** The program with the two lines of the README in place of the fake provider. */
function withRealModel(): string {
  const [line = "", model = ""] = readme.realModel.trim().split("\n");
  const program = readme.program
    .replace(/^import \{ createAnthropic \}.*$/m, line)
    .replace(/^import .* from "reeve\/testing";\n/m, "")
    .replace(/^const script = [\s\S]*?^const model = .*$/m, model)
    .replace(/^await provider\.close\(\);\n/m, "");
  expect(program).not.toMatch(/\b(provider|script)\b/);
  return program;
}

/** Returns the rows of a printed table, on any platform. */
function cellsOf(printed: string): readonly (readonly string[])[] {
  return [...printed.matchAll(/^│ \d.*$/gm)].map(([row]) =>
    row
      .split("│")
      .slice(2, -1)
      .map((cell) => cell.trim().replaceAll("'", "")),
  );
}
