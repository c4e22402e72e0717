import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { watchFiles } from "../../src/cli/dev/watch-files.ts";

test("changes are noticed however a file is saved, also in folders that are new", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reeve-watch-"));
  const file = join(folder, "agents.ts");
  writeFileSync(file, "1");
  let calls = 0;
  const stop = watchFiles(folder, () => (calls += 1));
  try {
    for (const round of [1, 2, 3]) {
      writeFileSync(join(folder, "saved.tmp"), String(round));
      renameSync(join(folder, "saved.tmp"), file);
      await expect.poll(() => calls).toBe(round);
    }
    mkdirSync(join(folder, "tools"));
    writeFileSync(join(folder, "tools", "look.ts"), "1");
    await expect.poll(() => calls).toBe(4);
    writeFileSync(join(folder, "tools", "look.ts"), "2");
    await expect.poll(() => calls).toBe(5);
    mkdirSync(join(folder, "node_modules"));
    writeFileSync(join(folder, "node_modules", "index.js"), "1");
    writeFileSync(file, "2");
    await expect.poll(() => calls).toBe(6);
    writeFileSync(join(folder, ".env"), "KEY=1");
    await expect.poll(() => calls).toBe(7);
  } finally {
    stop();
    rmSync(folder, { recursive: true });
  }
});
