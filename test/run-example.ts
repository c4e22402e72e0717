import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll } from "vitest";

/** Complains of every attempt to reach another machine. */
const hook = join(import.meta.dirname, "safety/fixtures/count-connections.ts");

/** Keeps compiled code for the next example. Node uses such a folder only if the process may write there. */
const compiled = mkdtempSync(join(tmpdir(), "reeve-compiled-"));
afterAll(() => rmSync(compiled, { recursive: true }));

/** Flags of a process that may read the project, has a folder for its files, and starts nothing. */
const confined = [
  "--permission",
  `--allow-fs-read=${resolve(import.meta.dirname, "..")}`,
  `--allow-fs-read=${tmpdir()}`,
  `--allow-fs-write=${tmpdir()}`,
];

/** Flags of an example that starts a process. Node confines a process of Node to the same files. */
const starting = [...confined, "--allow-child-process", "--disable-warning=PERM0002"];

/** Flags of examples that need more than others. */
const ownFlags: Readonly<Record<string, readonly string[]>> = {
  // These start a Restate server.
  "examples/09-crash-and-resume.ts": starting,
  "examples/11-list-and-watch.ts": starting,
  "examples/12-approval.ts": starting,
  // It starts an MCP server.
  "examples/47-mcp-client.ts": starting,
  // It makes a link, which Node allows only with access to all files. It starts nothing.
  "examples/49-files.ts": ["--permission", "--allow-fs-read=*", "--allow-fs-write=*"],
};

/** Returns the flags that confine an example as far as it can be. */
export const confine = (file: string): readonly string[] => ownFlags[file] ?? confined;

/** Settings of the process of an example. */
interface ExampleSettings {
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of Node besides those of every example. */
  readonly flags?: readonly string[];
}

/** Runs an example as a user would. Rejects if an assertion fails; returns its standard error. */
export async function runExample(
  file: string,
  { env = {}, flags = [] }: ExampleSettings = {},
): Promise<string> {
  const { stderr } = await promisify(execFile)(
    process.execPath,
    ["--disable-proto=throw", ...flags, "--conditions=reeve-source", "--import", hook, file],
    { env: { ...process.env, NODE_COMPILE_CACHE: compiled, ...env }, timeout: 30_000 },
  );
  return stderr;
}
