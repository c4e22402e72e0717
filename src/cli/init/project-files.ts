import { readFileSync } from "node:fs";

/** Dependency versions of a new project: those that this version of Reeve was tested with. */
export interface Versions {
  readonly reeve: string;
  getVersion(name: string): string;
}

const dependencies = [
  "@ai-sdk/anthropic",
  "@restatedev/restate-sdk",
  "@restatedev/restate-server",
  "hono",
  "kysely",
  "zod",
];
const developmentDependencies = ["@types/node", "typescript"];

/** The files of a new project, by name. */
export function projectFiles(name: string, versions: Versions): Readonly<Record<string, string>> {
  return {
    "package.json": packageJson(name, versions),
    "tsconfig.json": template("tsconfig.json"),
    // Under its own name npm would leave it out of the package.
    ".gitignore": template("gitignore"),
    "agents.ts": template("agents.ts"),
    "demo-model.ts": template("demo-model.ts"),
    "model.ts": template("model.ts"),
    "README.md": template("README.md").replaceAll("{{name}}", name),
  };
}

function template(name: string): string {
  return readFileSync(new URL(`../../../template/${name}`, import.meta.url), "utf8");
}

function packageJson(name: string, versions: Versions): string {
  const pickVersions = (names: readonly string[]): object =>
    Object.fromEntries(names.map((each) => [each, versions.getVersion(each)]));
  const manifest = {
    name,
    private: true,
    type: "module",
    engines: { node: ">=24" },
    scripts: { dev: "reeve dev agents.ts", typecheck: "tsc" },
    dependencies: { ...pickVersions(dependencies), reeve: versions.reeve },
    devDependencies: pickVersions(developmentDependencies),
    // The npm package of the Restate server reports each installation unless this is off.
    scarfSettings: { enabled: false },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
