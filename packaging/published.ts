import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** The export condition under which this repository uses its sources instead of the build. */
const sourceCondition = "reeve-source";

/** The address of the repository's files, for links to files that are not published. */
const repository = "https://github.com/reeve-run/reeve/blob/main/";

/** A manifest, as far as publishing changes it. */
export type Manifest = Readonly<Record<string, unknown>>;

/** Returns the manifest of the published package: without sources, and without what only this repository uses. */
export function toPublishedManifest(manifest: Manifest): Manifest {
  const { private: _, files: __, scripts: ___, overrides: ____, ...rest } = manifest;
  return { ...rest, imports: withoutSources(rest["imports"]), exports: withoutSources(rest["exports"]) };
}

/** Removes the condition at every depth. An entry with one condition left becomes its target. */
function withoutSources(targets: unknown): unknown {
  if (typeof targets !== "object" || targets === null) return targets;
  const entries = Object.entries(targets).filter(([name]) => name !== sourceCondition);
  const [only] = entries;
  if (entries.length === 1 && only?.[0] === "default") return only[1];
  return Object.fromEntries(entries.map(([name, target]) => [name, withoutSources(target)]));
}

/** Returns a page whose links to files outside `folder` point to the repository. */
export function toPublishedPage(text: string, path: string, folder: string): string {
  return text.replaceAll(/\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)/g, (link, target: string, part = "") => {
    const file = join(folder, dirname(path), target);
    return existsSync(file) ? link : `](${repository}${relative(folder, file)}${part})`;
  });
}
