import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import pkg from "../../package.json" with { type: "json" };
import { main } from "../../src/cli/program.ts";
import { FakeTerminal } from "./fake-terminal.ts";

test("a project is made once, with the versions that this package was tested with", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reeve-init-"));
  try {
    const terminal = new FakeTerminal({ folder });
    expect(await main(["init", "My Mill"], terminal)).toBe(0);
    expect(terminal.said).toContain("cd My Mill\n  npm install\n  npx reeve dev");
    const made = join(folder, "My Mill");
    const files = [".gitignore", "README.md", "agents.ts", "model.ts", "package.json", "tsconfig.json"];
    expect(readdirSync(made).toSorted()).toEqual(files);
    const manifest: unknown = JSON.parse(readFileSync(join(made, "package.json"), "utf8"));
    expect(manifest).toMatchObject({
      name: "my-mill",
      dependencies: {
        reeve: `^${pkg.version}`,
        zod: pkg.devDependencies.zod,
        hono: pkg.peerDependencies.hono,
      },
    });
    expect(JSON.stringify(manifest)).not.toContain("latest");
    expect(await main(["init", "My Mill"], terminal)).toBe(5);
    expect(terminal.complained).toContain("My Mill is not empty");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
