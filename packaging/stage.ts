// Writes the folder that is packed and published: `npm pack ./package`.
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { toPublishedManifest, toPublishedPage } from "./published.ts";

const root = resolve(import.meta.dirname, "..");
const folder = join(root, "package");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

rmSync(folder, { recursive: true, force: true });
for (const path of globSync([...manifest.files, "README.md", "LICENSE"], { cwd: root }))
  cpSync(join(root, path), join(folder, path), { recursive: true });
for (const path of globSync("{README.md,docs/**/*.md}", { cwd: folder })) {
  const page = join(folder, path);
  writeFileSync(page, toPublishedPage(readFileSync(page, "utf8"), path, folder));
}
writeFileSync(join(folder, "package.json"), `${JSON.stringify(toPublishedManifest(manifest), null, 2)}\n`);
