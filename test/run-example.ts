import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { patienceMs } from "./effort.ts";

/** Complains of every attempt to reach another machine. */
const hook = join(import.meta.dirname, "safety/fixtures/count-connections.ts");

/** The folder of compiled code. Node uses it only in a process that may write there. */
const compiled = process.env["NODE_COMPILE_CACHE"] ?? "";

/** Flags of a process that may read the project, has a folder for its files, and starts nothing. */
const confined = [
  "--permission",
  `--allow-fs-read=${resolve(import.meta.dirname, "..")}`,
  `--allow-fs-read=${tmpdir()}`,
  `--allow-fs-write=${tmpdir()}`,
  `--allow-fs-write=${compiled}`,
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
    { env: { ...process.env, ...env }, timeout: patienceMs() },
  );
  return stderr;
}
