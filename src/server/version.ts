import { readFileSync } from "node:fs";

/** Reads the version of this package. */
export function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version }: { readonly version: string } = JSON.parse(text);
  return version;
}
