import { Command, CommanderError } from "commander";
import { errorMessage } from "#base";
import { clean } from "#view";
import { findServer } from "./client/find-server.ts";
import { ReeveClient } from "./client/reeve-client.ts";
import { CliError } from "./cli-error.ts";
import { addControlCommands } from "./program/control-commands.ts";
import type { Commands } from "./program/commands.ts";
import { addKeys } from "./program/keys.ts";
import { addQueryCommands } from "./program/query-commands.ts";
import { addMcp } from "./program/mcp.ts";
import { addMemory } from "./program/memory.ts";
import { addProject } from "./program/project.ts";
import { addSchedules } from "./program/schedules.ts";
import { addSwitches } from "./program/switches.ts";
import { addWebhooks } from "./program/webhooks.ts";
import { addRunCommands } from "./program/run-commands.ts";
import { ExitCode } from "./exit-code.ts";
import { readPackage } from "./package.ts";
import { paintOf, type Terminal } from "./terminal.ts";
import { asTyped } from "./text/as-typed.ts";

const exitCodes = `
Exit codes:
  0  done; a run completed        5  refused: no permission, too late, or already done
  1  unexpected error             6  the audit chain is broken
  2  usage error                 10  the run landed (reached a limit, returned its work so far)
  3  no server answers           11  the run failed
  4  no such run or agent        12  the run was cancelled
                                130  detached by Ctrl-C; the run continues`;

const examples = `
Examples:
  reeve init demo                      create a project that runs without an API key
  reeve dev agents.ts                  run Restate, store, worker and server on this machine
  reeve run lead "heat pumps in Europe" --max-cost 0.50
  reeve runs --status waiting
  reeve why <id>                       why it stopped or waits
  reeve approve <id>`;

/** Runs the command line. Resolves with the exit code; writes only to the terminal. */
export async function main(words: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = ExitCode.ok;
  const isJson = words.includes("--json");
  const exit = (code: number): void => {
    exitCode = code;
  };
  const program = programFor(terminal, exit);
  try {
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return ExitCode.ok;
    // A line without a command has been answered with help.
    if (error instanceof CommanderError && error.code === "commander.help") return ExitCode.usage;
    return printError(terminal, error instanceof CommanderError ? toUsageError(error) : error, isJson);
  }
}

function programFor(terminal: Terminal, exit: (code: number) => void): Command {
  const program = new Command(terminal.command);
  program
    .description("Agents that spawn agents: one budget, one cancel and one journal for the whole tree")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out.write(text),
      writeErr: (text) => terminal.errors.write(text),
      // Usage errors are thrown as well, and printed like any other error.
      outputError: () => undefined,
      getOutHelpWidth: () => terminal.out.columns,
      getErrHelpWidth: () => terminal.errors.columns,
    })
    .version(readPackage().version, "--version", "print the version")
    .addHelpText("after", asTyped(examples, terminal.command))
    .addHelpText("after", exitCodes);
  const commands: Commands = {
    program,
    terminal,
    exit,
    addServerOptions: (command) =>
      command
        .option("--json", "print JSON: one object, or one per line")
        .option("--url <url>", "server address (default: REEVE_URL, else the `reeve dev` of this folder)"),
    contextOf: ({ url, json = false }) => ({
      terminal,
      json,
      client: new ReeveClient(findServer(url, terminal.environment, terminal.folder)),
    }),
  };
  for (const add of [
    addProject,
    addRunCommands,
    addQueryCommands,
    addControlCommands,
    addMemory,
    addSchedules,
    addSwitches,
    addWebhooks,
    addKeys,
    addMcp,
  ])
    add(commands);
  return program;
}

/** Returns a command line that was not understood as an error like any other. */
function toUsageError({ message }: CommanderError): CliError {
  const hint = "add --help for usage";
  return new CliError(message.replace(/^error: /, ""), { code: "usage", exitCode: ExitCode.usage, hint });
}

function printError(terminal: Terminal, error: unknown, json: boolean): number {
  const { errors } = terminal;
  const known = error instanceof CliError ? error : null;
  const message = errorMessage(error);
  const code = known?.code ?? "failure";
  const hint = known?.hint ? asTyped(known.hint, terminal.command) : null;
  if (json) errors.write(`${JSON.stringify({ error: { code, message, hint } })}\n`);
  else {
    const paint = paintOf(terminal, errors);
    errors.write(`${paint("bad", "reeve:")} ${clean(message)}\n`);
    if (hint !== null) errors.write(paint("faint", `  → ${hint}\n`));
    if (!known && terminal.environment["REEVE_DEBUG"] && error instanceof Error)
      errors.write(`${error.stack}\n`);
  }
  return known?.exitCode ?? ExitCode.failure;
}
