import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentId } from "#kernel";
import { agentGraph } from "#runtime";
import { CliError } from "../cli-error.ts";
import { agentsIn } from "../dev/agents-in.ts";
import { ExitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { graphLines, graphMermaid } from "../views/graph.ts";

/** The options of `reeve graph`. */
export interface GraphCommand {
  readonly file: string;
  /** Default: every agent that the file exports. */
  readonly agent?: string | undefined;
  readonly mermaid: boolean;
  readonly json: boolean;
}

/** Draws the agents of a file, with their teams, workers and flows. */
export async function graph(
  terminal: Terminal,
  { file, agent, mermaid, json }: GraphCommand,
): Promise<number> {
  const path = resolve(terminal.folder, file);
  const module: object = await import(pathToFileURL(path).href);
  const all = agentsIn(module, file).toSorted((one, other) => one.id.localeCompare(other.id));
  const chosen = all.filter(({ id }) => agent === undefined || AgentId.type(id) === agent);
  if (chosen.length === 0)
    throw new CliError(`${file} exports no agent ${agent}`, {
      code: "not-found",
      exitCode: ExitCode.notFound,
      hint: `agents: ${all.map(({ id }) => AgentId.type(id)).join(", ")}`,
    });
  for (const graphed of chosen.map(agentGraph)) {
    const text = mermaid ? graphMermaid(graphed) : graphLines(graphed).join("\n");
    terminal.out.write(`${json ? JSON.stringify(graphed) : text}\n`);
  }
  return ExitCode.ok;
}
