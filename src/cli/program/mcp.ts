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

const load = async (): Promise<typeof McpCommands> => import("../commands/mcp.ts");

/** `reeve mcp`: it connects to the MCP server itself, from here. */
export function addMcp({ program, terminal, exit }: Commands): void {
  const mcp = program.command("mcp").description("tools of MCP servers");
  mcp
    .command("pin <name> [command...]")
    .description("show the tools of a server, and approve them as they are now")
    .option("--endpoint <url>", "of a server that is reached over HTTP; else a command that starts it")
    .option("--header <name: value>", "a header of every request; may be repeated", toHeader, {})
    .option("--allow-host <host>", "a host that is not public; may be repeated", toList, [])
    .option("--allow-download", "let the command download what it runs, as npx does")
    .option("--file <path>", "the file of pins", "mcp-pins.json")
    .option("--check", "only show what has changed; exit code 5 if anything has")
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
      exit(await (await load()).pin({ terminal, address, file, check }));
    });
}

function toHeader(text: string, known: PinFlags["header"]): PinFlags["header"] {
  const [, name, value] = /^([\w-]+): ?(.+)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("a header is name: value");
  return { ...known, [name]: value };
}

const toList = (text: string, known: readonly string[]): readonly string[] => [...known, text];
