import { Argument } from "commander";
import { completionScript, shells } from "../completion.ts";
import type { Commands } from "./commands.ts";
import { CliError } from "../cli-error.ts";
import { findAdmin } from "../client/find-server.ts";
import { ExitCode } from "../exit-code.ts";
import { omitUndefined, parseCount } from "./arguments.ts";

interface MoveFlags {
  readonly to?: string;
  readonly refused?: boolean;
  readonly admin?: string;
  readonly json?: boolean;
}

/** `reeve init`, `reeve dev`, `reeve graph`, `reeve move` and `reeve completion`. */
export function addProject({ program, terminal, exit }: Commands): void {
  program
    .command("init [folder]")
    .description("create a project that runs without an API key")
    .option("--json", "print one JSON object")
    .option("--reeve <spec>", "version of reeve, or path of a tarball (default: this version)")
    .action(
      async (folder: string | undefined, options: { readonly json?: boolean; readonly reeve?: string }) => {
        const { init } = await import("../init/init.ts");
        exit(await init(terminal, folder ?? ".", options));
      },
    );
  program
    .command("dev [file]")
    .description("run Restate, a store, a reloading worker and the server on this machine")
    .option("--port <port>", "port of the server", parseCount, 7433)
    .option("--json", "print one JSON object per change")
    .addHelpText("after", "\n<file> exports agents (default: agents.ts). Data is stored in .reeve beside it.")
    .action(async (file: string | undefined, options: { readonly port: number; readonly json?: boolean }) => {
      const { checkDevNeeds } = await import("../dev/dev-needs.ts");
      checkDevNeeds(`${process.platform}-${process.arch}`);
      // Imported only after the check for the packages it needs.
      const { dev } = await import("../dev/dev.ts");
      exit(await dev(terminal, file ?? "agents.ts", { json: false, ...options }));
    });
  addGraph({ program, terminal, exit });
  addMove({ program, terminal, exit });
  program
    .command("completion")
    .description("print a shell completion script")
    .addArgument(new Argument("<shell>").choices(shells))
    .addHelpText("after", '\nExample:\n  eval "$(reeve completion bash)"')
    .action((shell: (typeof shells)[number]) => terminal.out.write(completionScript(program, shell)));
}

interface GraphFlags {
  readonly file: string;
  readonly mermaid?: boolean;
  readonly json?: boolean;
}

function addGraph({ program, terminal, exit }: Pick<Commands, "program" | "terminal" | "exit">): void {
  program
    .command("graph [agent]")
    .description("show an agent with its team, workers and flows, as a tree")
    .option("--file <file>", "file that exports the agents", "agents.ts")
    .option("--mermaid", "print a Mermaid flowchart")
    .option("--json", "print one JSON object per agent")
    .action(async (agent: string | undefined, { file, mermaid = false, json = false }: GraphFlags) => {
      const { graph } = await import("../commands/graph.ts");
      exit(await graph(terminal, { file, agent, mermaid, json }));
    });
}

function addMove({ program, terminal, exit }: Pick<Commands, "program" | "terminal" | "exit">): void {
  program
    .command("move <from>")
    .description("move the runs of a build to another build; no step is repeated")
    .option("--to <build>", "target build (default: the build for new runs)")
    .option("--refused", "only runs that <from> refuses because it has another version of their agent")
    .option(
      "--admin <url>",
      "address of Restate's admin (default: RESTATE_ADMIN, else the `reeve dev` of this folder)",
    )
    .option("--json", "print one JSON object")
    .action(async (from: string, { to, refused, admin: told, json = false }: MoveFlags) => {
      const admin = findAdmin(told, terminal.environment, terminal.folder);
      if (admin === null) throw unknownAdmin();
      const { checkPackages } = await import("../dev/dev-needs.ts");
      checkPackages("reeve move", ["@restatedev/restate-sdk"]);
      const { move } = await import("../commands/move.ts");
      const options = { from, ...omitUndefined({ to }), ...(refused && { only: "refused" as const }) };
      exit(await move(terminal, { options, admin, json }));
    });
}

const unknownAdmin = (): CliError =>
  new CliError("no address of Restate's admin is set", {
    code: "unreachable",
    exitCode: ExitCode.unreachable,
    hint: "set --admin or RESTATE_ADMIN to the address of Restate's admin",
  });
