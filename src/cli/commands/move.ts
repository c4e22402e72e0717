import { type MoveOptions, restate } from "#engines/restate";
import { formatCounted } from "#view";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";

/** The options of `reeve move`. */
export interface MoveCommand {
  readonly options: MoveOptions;
  /** Restate's admin. */
  readonly admin: string;
  readonly json: boolean;
}

/** Moves runs to another build. */
export async function move(terminal: Terminal, { options, admin, json }: MoveCommand): Promise<number> {
  await using engine = restate({ ingress: admin, admin });
  const { moved, left } = await engine.moveRuns(options).catch((error: unknown) => {
    throw toCliError(error, admin);
  });
  const words =
    moved + left === 0
      ? `nothing to move: build ${options.from} has no such run`
      : `${formatCounted(moved, "execution")} moved${left === 0 ? "" : `, ${left} not moved because a step is running: run the command again later`}`;
  terminal.out.write(json ? `${JSON.stringify({ moved, left })}\n` : `${words}\n`);
  return left === 0 ? ExitCode.ok : ExitCode.refused;
}

function toCliError(error: unknown, admin: string): unknown {
  if (!(error instanceof TypeError)) return error;
  if (error.message === "fetch failed")
    return new CliError(`no Restate answers at ${admin}`, {
      code: "unreachable",
      exitCode: ExitCode.unreachable,
      hint: "set --admin or RESTATE_ADMIN to the address of Restate's admin",
    });
  return new CliError(error.message, { code: "not-found", exitCode: ExitCode.notFound });
}
