import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
    expect(await main(["init", "My Team"], terminal)).toBe(0);
    expect(terminal.said).toContain("cd My Team\n  npm install\n  npx reeve dev");
    const made = join(folder, "My Team");
    const files = [
      ".gitignore",
      "README.md",
      "agents.ts",
      "demo-model.ts",
      "model.ts",
      "package.json",
      "tsconfig.json",
    ];
    expect(readdirSync(made).toSorted()).toEqual(files);
    const manifest: unknown = JSON.parse(readFileSync(join(made, "package.json"), "utf8"));
    expect(manifest).toMatchObject({
      name: "my-team",
      dependencies: {
        reeve: `^${pkg.version}`,
        zod: pkg.devDependencies.zod,
        hono: pkg.peerDependencies.hono,
      },
    });
    expect(JSON.stringify(manifest)).not.toContain("latest");
    expect(manifest).toMatchObject({
      engines: { node: ">=24" },
      type: "module",
      scarfSettings: { enabled: false },
    });
    expect(await main(["init", "My Team"], terminal)).toBe(5);
    expect(terminal.complained).toContain("My Team is not empty");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a tarball to depend on is found from where the command is typed, not from the new project", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reeve-init-"));
  try {
    writeFileSync(join(folder, "reeve.tgz"), "");
    const terminal = new FakeTerminal({ folder });
    expect(await main(["init", "one", "--reeve", "reeve.tgz"], terminal)).toBe(0);
    expect(await main(["init", "two", "--reeve", "^1.2.3"], terminal)).toBe(0);
    expect(reeveIn(join(folder, "one"))).toBe(`file:${join(folder, "reeve.tgz")}`);
    expect(reeveIn(join(folder, "two"))).toBe("^1.2.3");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function reeveIn(project: string): unknown {
  return JSON.parse(readFileSync(join(project, "package.json"), "utf8")).dependencies.reeve;
}
