// Loads extensions and guardrails from the files of a profile folder.
//
// Job: import `extensions/*.ts|js` and `guardrails/*.ts|js`, and check what they export. Neighbours: profile makes the
// `load` part of its extension of it; the runtime calls that when it starts and at `reload()`.
//
// Invariants:
// 1. Nothing outside the folder is imported by name, and nothing is installed. What a file itself imports is its own.
// 2. An extension that cannot be loaded is left out and named. A guardrail that cannot be loaded is an error: leaving it out
//    would allow what it forbids.
// 3. With pins, a file is imported only if its content has the pinned hash. Every other file, and a missing one, is an error.
// 4. A file is imported again only when its content has changed.
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { extension } from "#agents";
import type { Extension, ExtensionProblem, Guardrail, LoadedParts } from "#kernel";
import { checkPin, hashText, type Pins } from "./pins.ts";
import type { Folder } from "./read-folder.ts";

const folders = ["extensions", "guardrails"] as const;
const endings: ReadonlySet<string> = new Set([".ts", ".mts", ".js", ".mjs"]);

/** Whether a folder has files of code. */
export function hasCode(folder: Folder): boolean {
  return folders.some((name) => folder.has(name));
}

/** Loads the code of a folder. @throws Error that names the file and the problem. */
export async function loadFiles(folder: Folder, pins: Pins | undefined): Promise<LoadedParts> {
  const [extensions = [], guardrails = []] = await Promise.all(folders.map((name) => listCode(folder, name)));
  if (pins) checkPins(pins, [...extensions, ...guardrails]);
  const problems: ExtensionProblem[] = [];
  const loaded: Extension[] = [];
  for (const path of extensions) {
    const text = await readCode(folder, path, pins);
    try {
      loaded.push(readExtension(await importCode(folder, path, text)));
    } catch (error) {
      problems.push({ extension: path, message: `skipped: ${getErrorMessage(error)}` });
    }
  }
  const rails: Guardrail[] = [];
  for (const path of guardrails) {
    const text = await readCode(folder, path, pins);
    try {
      rails.push(...readGuardrails(await importCode(folder, path, text)));
    } catch (cause) {
      throw new Error(`guardrail file ${path} cannot be loaded: ${getErrorMessage(cause)}`, { cause });
    }
  }
  return { extensions: loaded, guardrails: rails, problems };
}

async function listCode(folder: Folder, name: string): Promise<readonly string[]> {
  const files = await folder.list(name);
  return files
    .filter((file) => file.isFile && endings.has(extname(file.name)) && !/\.d\.m?ts$/.test(file.name))
    .map((file) => `${name}/${file.name}`);
}

/** @throws Error that lists files without a pin, and pins without a file. */
function checkPins(pins: Pins, files: readonly string[]): void {
  const unknown = files.filter((file) => !Object.hasOwn(pins, file));
  const missing = Object.keys(pins).filter((file) => !files.includes(file));
  if (unknown.length > 0) throw new Error(`files without a pin are not loaded: ${unknown.join(", ")}`);
  if (missing.length > 0) throw new Error(`pinned files are missing: ${missing.join(", ")}`);
}

/** Reads a file of code. @throws Error if its content is not the pinned one. */
async function readCode(folder: Folder, path: string, pins: Pins | undefined): Promise<string> {
  const text = (await folder.read(path)) ?? "";
  if (pins) checkPin(pins, path, text);
  return text;
}

/** Imports a file. Another content is another module. */
async function importCode(folder: Folder, path: string, text: string): Promise<unknown> {
  const url = pathToFileURL(folder.pathOf(path));
  url.searchParams.set("content", hashText(text).slice(0, 16));
  const made: unknown = await import(url.href);
  if ((await folder.read(path)) !== text) throw new Error("it changed while it was loaded");
  const found: unknown = Reflect.get(Object(made), "default");
  if (found === undefined) throw new TypeError("it has no default export");
  return found;
}

/** @throws TypeError for a value that is not an extension. */
function readExtension(value: unknown): Extension {
  if (typeof value !== "object" || value === null || !("name" in value) || typeof value.name !== "string")
    throw new TypeError("its default export must be the result of extension({ name, ... })");
  const { name, ...parts } = value;
  return extension({ ...parts, name });
}

const hooks = ["onTurnStart", "onInput", "beforeCall", "afterCall", "onOutput"] as const;

/** @throws TypeError for a value that is neither a guardrail nor a list of guardrails. */
function readGuardrails(value: unknown): readonly Guardrail[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.map((item) => {
    if (isGuardrail(item)) return item;
    throw new TypeError("its default export must be a guardrail, or a list of guardrails");
  });
}

function isGuardrail(value: unknown): value is Guardrail {
  if (typeof value !== "object" || value === null || !("name" in value)) return false;
  return (
    typeof value.name === "string" && hooks.some((hook) => typeof Reflect.get(value, hook) === "function")
  );
}

const getErrorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
