import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packBeside } from "./packed.ts";
import { installNode } from "./platform.ts";
import { readme } from "./readme.ts";
import { installMs, Terminal } from "./terminal.ts";

const needed = "Reeve needs Node 24 or Bun 1.4, or a newer one; this is Node 22.18.0";

test(
  "npm, the program and the command report the required version on Node 22",
  { timeout: installMs },
  async () => {
    const { top, folder } = await packBeside("first");
    const terminal = new Terminal(await installNode("22.18.0"), folder);
    try {
      let installed = "";
      for (const line of readme.install) installed += await terminal.run(line);
      expect(installed).toMatch(/EBADENGINE[^\n]*\n[^\n]*reeve@[\s\S]*node: '>=24'/);
      writeFileSync(join(folder, "app.ts"), readme.program);
      await expect(terminal.run("node app.ts")).rejects.toThrow(`Error: ${needed}`);
      await expect(terminal.run("npx reeve runs")).rejects.toThrow(`\nreeve: ${needed}\n`);
    } finally {
      rmSync(top, { recursive: true });
    }
  },
);
