import { InvalidArgumentError } from "commander";
import type * as McpCommands from "../commands/mcp.ts";
import type { Commands } from "./commands.ts";

interface PinFlags {
  readonly endpoint?: string;
  readonly header: Readonly<Record<string, string>>;
  readonly allowHost: readonly string[];
  readonly allowDownload?: boolean;
  readonly file: string;
  readonly check?: boolean;
}

const loadMcpCommands = async (): Promise<typeof McpCommands> => import("../commands/mcp.ts");

/** `reeve mcp`: it connects to the MCP server itself, from here. */
export function addMcp({ program, terminal, exit }: Commands): void {
  const mcp = program.command("mcp").description("manage tools of MCP servers");
  mcp
    .command("pin <name> [command...]")
    .description("show the tools of a server, and approve their current form")
    .option("--endpoint <url>", "HTTP address of the server (else give the command that starts it)")
    .option("--header <name: value>", "header for every request; may be repeated", toHeader, {})
    .option("--allow-host <host>", "non-public host to allow; may be repeated", toList, [])
    .option("--allow-download", "allow a command that downloads its code, such as npx")
    .option("--file <path>", "file of pins", "mcp-pins.json")
    .option("--check", "only show changes; exit code 5 if there are any")
    .addHelpText(
      "after",
      "\nExample:\n  reeve mcp pin files -- node node_modules/@modelcontextprotocol/server-filesystem/dist/index.js .",
    )
    .action(async (name: string, words: readonly string[], flags: PinFlags) => {
      const { endpoint, header, allowHost, allowDownload, file, check = false } = flags;
      const [command, ...args] = words;
      const address = {
        name,
        ...(endpoint !== undefined && { url: endpoint, headers: header, allowHosts: allowHost }),
        ...(command !== undefined && { command, args, cwd: terminal.folder }),
        ...(allowDownload && { allowDownload }),
      };
      exit(await (await loadMcpCommands()).pin({ terminal, address, file, check }));
    });
}

function toHeader(text: string, known: PinFlags["header"]): PinFlags["header"] {
  const [, name, value] = /^([\w-]+): ?(.+)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("must be <name>: <value>");
  return { ...known, [name]: value };
}

const toList = (text: string, known: readonly string[]): readonly string[] => [...known, text];
