import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { mcp } from "reeve/mcp";
import { expect, test } from "vitest";
import { main } from "../../src/cli/program.ts";
import { FakeTerminal } from "./fake-terminal.ts";

const server = resolve("test/mcp/fixtures/evil-server.ts");

test("tools are approved in a file, a change is shown, and unapproved tools are not used", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-mcp-"));
  const reeve = async (...words: readonly string[]): Promise<readonly [number, string]> => {
    const terminal = new FakeTerminal({ folder });
    return [await main(["mcp", "pin", ...words], terminal), terminal.said];
  };
  const honest = ["evil", "--", process.execPath, server, "honest"];
  const verbose = ["evil", "--check", "--", process.execPath, server, "verbose"];
  try {
    expect(await reeve(...honest)).toEqual([
      0,
      "new     look  Looks.\n1 tools of evil are approved in mcp-pins.json\n",
    ]);
    expect(await reeve("evil", "--check", "--", process.execPath, server, "honest")).toEqual([
      0,
      "evil: no changes\n",
    ]);
    const [code, said] = await reeve(...verbose);
    expect([code, said.slice(0, 20)]).toEqual([5, "changed look  xxxxxx"]);
    const pins = join(folder, "mcp-pins.json");
    expect(JSON.parse(readFileSync(pins, "utf8")).servers.evil.tools).toHaveLength(1);
    await using approved = mcp({ name: "evil", command: process.execPath, args: [server, "honest"], pins });
    expect(approved.tools?.map(({ name }) => name)).toEqual(["evil_look"]);
    expect((await reeve("other", "--", process.execPath, "-e", "0"))[0]).toBe(3);
  } finally {
    await rm(folder, { recursive: true });
  }
});
