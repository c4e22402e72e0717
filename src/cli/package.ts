import { readFileSync } from "node:fs";

/** The manifest of this package, as far as commands need it. */
interface Package {
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** Reads the manifest of this package. */
export function readPackage(): Package {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
}
