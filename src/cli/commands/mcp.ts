import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { comparePins, pinTools, readPinsFile, type McpServerAddress } from "#mcp";
import { errorMessage } from "#base";
import { clean } from "#view";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";

/** A server whose tools are approved, and the file that stores the approval. */
export interface PinRequest {
  readonly terminal: Terminal;
  readonly address: McpServerAddress;
  readonly file: string;
  /** Whether changes are only shown. */
  readonly check: boolean;
}

/** Reads the tools of a server, shows how they differ from the approved ones, and approves them. */
export async function pin({ terminal, address, file, check }: PinRequest): Promise<number> {
  const path = resolve(terminal.folder, file);
  const known = readPinsFile(path);
  const listed = await pinTools(address).catch((error: unknown) => {
    throw new CliError(errorMessage(error), { code: "no-server", exitCode: ExitCode.unreachable });
  });
  const changes = comparePins(known?.servers[address.name] ?? null, listed);
  for (const { tool, kind } of changes) {
    const description = listed.tools.find(({ name }) => name === tool)?.description ?? "";
    const [line = ""] = clean(description).split("\n");
    terminal.out.write(`${kind.padEnd(8)}${clean(tool)}  ${line.slice(0, 200)}\n`);
  }
  if (changes.length === 0) terminal.out.write(`${address.name}: no changes\n`);
  if (check) return changes.length === 0 ? ExitCode.ok : ExitCode.refused;
  const servers = { ...known?.servers, [address.name]: listed };
  writeFileSync(path, `${JSON.stringify({ servers }, null, 2)}\n`);
  terminal.out.write(`${listed.tools.length} tools of ${address.name} are approved in ${file}\n`);
  return ExitCode.ok;
}
