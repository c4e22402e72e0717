import { Argument } from "commander";
import { completionScript, shells } from "../completion.ts";
import type { Commands } from "./commands.ts";
import { CliError } from "../cli-error.ts";
import { findAdmin } from "../client/find-server.ts";
import { ExitCode } from "../exit-code.ts";
import { given, whole } from "./arguments.ts";

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
    .description("a project that runs at once, without a key")
    .option("--json", "one JSON object")
    .option(
      "--reeve <spec>",
      "the reeve it depends on: a version, or the path of a tarball (default: this version)",
    )
    .action(
      async (folder: string | undefined, options: { readonly json?: boolean; readonly reeve?: string }) => {
        const { init } = await import("../init/init.ts");
        exit(await init(terminal, folder ?? ".", options));
      },
    );
  program
    .command("dev [file]")
    .description("Restate, a store, a worker that reloads and the server, on this machine")
    .option("--port <port>", "where the server listens", whole, 7433)
    .option("--json", "one JSON object for each change, on a line")
    .addHelpText(
      "after",
      "\n<file> exports agents (default agents.ts). Everything is kept in .reeve beside it.",
    )
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
    .description("a script that teaches a shell these commands")
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
    .description("an agent with its team, its workers and its flows, as a tree")
    .option("--file <file>", "the file that exports it", "agents.ts")
    .option("--mermaid", "as a Mermaid flowchart")
    .option("--json", "one JSON object for each agent, on a line")
    .action(async (agent: string | undefined, { file, mermaid = false, json = false }: GraphFlags) => {
      const { graph } = await import("../commands/graph.ts");
      exit(await graph(terminal, { file, agent, mermaid, json }));
    });
}

function addMove({ program, terminal, exit }: Pick<Commands, "program" | "terminal" | "exit">): void {
  program
    .command("move <from>")
    .description("move the runs of a build to another build; no step is repeated")
    .option("--to <build>", "where they go on (default: the build that new runs start with)")
    .option("--refused", "only those that <from> refuses, because it has another version of their agent")
    .option(
      "--admin <url>",
      "Restate's admin (default: RESTATE_ADMIN, else that of the `reeve dev` of this folder)",
    )
    .option("--json", "one JSON object")
    .action(async (from: string, { to, refused, admin: told, json = false }: MoveFlags) => {
      const admin = findAdmin(told, terminal.environment, terminal.folder);
      if (admin === null) throw unknownAdmin();
      const { checkPackages } = await import("../dev/dev-needs.ts");
      checkPackages("reeve move", ["@restatedev/restate-sdk"]);
      const { move } = await import("../commands/move.ts");
      const options = { from, ...given({ to }), ...(refused && { only: "refused" as const }) };
      exit(await move(terminal, { options, admin, json }));
    });
}

const unknownAdmin = (): CliError =>
  new CliError("no Restate is known here", {
    code: "unreachable",
    exitCode: ExitCode.unreachable,
    hint: "say where its admin is with --admin or RESTATE_ADMIN",
  });
