import { existsSync, readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { basename, join } from "node:path";
import { errorMessage, missingPackagesText } from "#base";

// Node prints `imported from /a/b.ts`, Bun `from '/a/b.ts'`.
const notFound = /^Cannot find (?:package|module) '([^'./][^']*)' (?:imported )?from '?([^'\n]+?)'?$/m;
const imported = /(?:\bfrom\s{0,9}|\bimport\s{0,9}\(?\s{0,9})["']([^"'./][^"']{0,200})["']/g;

/** Names every package that a file of a project imports and that is not installed; null if that is not the problem. */
export function missingImportsText(error: unknown, file: string): string | null {
  const [, missing, importer] = notFound.exec(errorMessage(error)) ?? [];
  if (missing === undefined || importer === undefined) return null;
  // Imports inside a package are skipped: its dependencies are unknown here.
  const files = [...new Set([file, importer])].filter((path) => !path.includes("node_modules"));
  const names = new Set([packageOf(missing), ...files.flatMap(missingIn)]);
  return missingPackagesText(basename(file), [...names]);
}

/** The packages that a source file imports and that are not installed. */
function missingIn(file: string): readonly string[] {
  if (!existsSync(file)) return [];
  const { resolve } = createRequire(file);
  const names = [...readFileSync(file, "utf8").matchAll(imported)].map(([, name = ""]) => packageOf(name));
  return names.filter((name) => {
    if (isBuiltin(name) || name.startsWith("#") || name.includes(":")) return false;
    return !(resolve.paths(name) ?? []).some((folder) => existsSync(join(folder, name)));
  });
}

/** Returns the package of an import, such as `@ai-sdk/openai` for `@ai-sdk/openai/internal`. */
function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
