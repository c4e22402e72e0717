import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** Complains of every attempt to reach another machine. */
const hook = join(import.meta.dirname, "safety/fixtures/count-connections.ts");

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
    { env: { ...process.env, ...env }, timeout: 30_000 },
  );
  return stderr;
}
