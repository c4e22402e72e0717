import { Argument } from "commander";
import { completionScript, shells } from "../completion.ts";
import type { Commands } from "./commands.ts";
import { whole } from "./arguments.ts";

/** `reeve init`, `reeve dev` and `reeve completion`. */
export function addProject({ program, terminal, exit }: Commands): void {
  program
    .command("init [folder]")
    .description("a project that runs at once, without a key")
    .option("--json", "one JSON object")
    .option("--reeve <spec>", "the reeve it depends on, as npm would have it (default: this version)")
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
      const { dev } = await import("../dev/dev.ts");
      exit(await dev(terminal, file ?? "agents.ts", { json: false, ...options }));
    });
  program
    .command("completion")
    .description("a script that teaches a shell these commands")
    .addArgument(new Argument("<shell>").choices(shells))
    .addHelpText("after", '\nExample:\n  eval "$(reeve completion bash)"')
    .action((shell: (typeof shells)[number]) => terminal.out.write(completionScript(program, shell)));
}
