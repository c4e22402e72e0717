import type { Command } from "commander";
import type { Context } from "../commands/command.ts";
import type { Terminal } from "../terminal.ts";

/** The program that commands are added to. */
export interface Commands {
  readonly program: Command;
  readonly terminal: Terminal;
  /** A command that asks a server: `--json` and `--url` come with it. */
  readonly addServerOptions: (command: Command) => Command;
  /** Returns the context of a command from its options. */
  readonly contextOf: (options: { readonly url?: string; readonly json?: boolean }) => Context;
  /** Sets the exit code of the process. */
  readonly exit: (code: number) => void;
}
