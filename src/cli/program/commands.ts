import type { Command } from "commander";
import type { Context } from "../commands/command.ts";
import type { Terminal } from "../terminal.ts";

/** What commands are added to. */
export interface Commands {
  readonly program: Command;
  readonly terminal: Terminal;
  /** A command that asks a server: `--json` and `--url` come with it. */
  readonly asking: (command: Command) => Command;
  /** What it works with, from its options. */
  readonly contextOf: (options: { readonly url?: string; readonly json?: boolean }) => Context;
  /** How the process will end. */
  readonly exit: (code: number) => void;
}
