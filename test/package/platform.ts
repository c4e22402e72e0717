import { execFile } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { isFull } from "../effort.ts";

/** A JavaScript platform that a user may have. */
export interface Platform {
  readonly name: string;
  /** The folder with its programs, to be the first of the search path. */
  readonly bin: string;
  /** The command that runs a program of the user. */
  readonly command: string;
  /** Returns a line of the README as a user of this platform types it. */
  translate(line: string): string;
}

const cache = resolve("node_modules/.cache/reeve/platforms");

/** The platforms on which everything must run. `.ci/run` tries the first. */
export async function supportedPlatforms(): Promise<readonly Platform[]> {
  if (!isFull) return [currentNode()];
  const others = await Promise.all([installNode("26.10.0"), installBun("1.4.4")]);
  return [currentNode(), ...others];
}

/** Installs a Node of this version from the npm registry. */
export async function installNode(version: string): Promise<Platform> {
  const name = `node-${process.platform}-${process.arch}`;
  const bin = join(await install(`${name}@${version}`, `node-${version}`), name, "bin");
  return { name: `Node ${version}`, bin, command: join(bin, "node"), translate: (line) => line };
}

/** The Node that runs the tests. */
export function currentNode(): Platform {
  const bin = resolve(process.execPath, "..");
  const name = `Node ${process.versions.node}`;
  return { name, bin, command: process.execPath, translate: (line) => line };
}

/** Installs a Bun of this version from the npm registry. */
async function installBun(version: string): Promise<Platform> {
  const name = `@oven/bun-${process.platform}-${process.arch === "arm64" ? "aarch64" : process.arch}`;
  const bin = join(await install(`${name}@${version}`, `bun-${version}`), name, "bin");
  // Bun's own installer makes this link: under that name it is the counterpart of npx.
  if (!existsSync(join(bin, "bunx"))) symlinkSync("bun", join(bin, "bunx"));
  return { name: `Bun ${version}`, bin, command: join(bin, "bun"), translate: toBun };
}

/** The README's commands for users of Bun. */
function toBun(line: string): string {
  return line
    .replace("npm init -y --init-type=module", "bun init -y -m")
    .replace(/^npm install$/, "bun install")
    .replace(/^npm install /, "bun add ")
    .replace(/^node /, "bun ")
    .replace(/^npx reeve/, "bunx --bun reeve");
}

/** Installs the package. Returns its folder. */
async function install(spec: string, folder: string): Promise<string> {
  const prefix = join(cache, folder);
  if (!existsSync(join(prefix, "node_modules"))) {
    mkdirSync(prefix, { recursive: true });
    const options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    await promisify(execFile)("npm", ["install", "--prefix", prefix, ...options, spec]);
  }
  return join(prefix, "node_modules");
}
