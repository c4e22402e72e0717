import { pathToFileURL } from "node:url";
import { restate, type RestateEngine, StartupError } from "#engines/restate";
import { AgentId } from "#kernel";
import { Runtime } from "#runtime";
import { listen } from "#server";
import { sqliteStore } from "#stores/sqlite";
import { agentsIn, optionsIn } from "./agents-in.ts";
import {
  settingsVariable,
  type WorkerNews,
  type WorkerOrder,
  type WorkerSettings,
} from "./worker-settings.ts";

const drainMs = 15_000;

function tell(news: WorkerNews): void {
  process.send?.(news);
}

async function serve(settings: WorkerSettings): Promise<void> {
  const module: object = await import(pathToFileURL(settings.file).href);
  const { ingress, admin, build, port } = settings;
  const agents = agentsIn(module, settings.file);
  const log = ({ level, message }: { readonly level: string; readonly message: string }): void => {
    if (level === "error" || level === "warn") tell({ type: "log", words: message });
  };
  const engine = restate({ ingress, admin, build, drainOnSigtermMs: drainMs, log });
  const store = await sqliteStore({ path: settings.store });
  const runtime = new Runtime({ approver: "people", ...optionsIn(module), agents, engine, store });
  await runtime.serve({ port });
  const onError = (error: unknown): void => tell({ type: "log", words: wordsOf(error) });
  const { url } = await listen({ runtime, port: 0, onError });
  process.on("message", (order: WorkerOrder) => void adopt(engine, order));
  tell({ type: "ready", url, agents: agents.map(({ id }) => AgentId.type(id)) });
}

/** Runs of builds that are gone go on here. */
async function adopt(engine: RestateEngine, { builds }: WorkerOrder): Promise<void> {
  for (const from of builds)
    await engine.moveRuns({ from }).catch((error: unknown) => tell({ type: "log", words: wordsOf(error) }));
}

/** The first lines of what was thrown: where, and why. */
function wordsOf(error: unknown): string {
  if (error instanceof StartupError || !(error instanceof Error)) return String(error);
  const ours = /node_modules|node:internal|dev\/worker/;
  const lines = (error.stack ?? error.message).split("\n").filter((line) => !ours.test(line));
  return lines.slice(0, 6).join("\n");
}

// Whoever started us is gone: nothing is left behind.
process.on("disconnect", () => process.exit(0));
process.on("uncaughtException", (error) => {
  tell({ type: "log", words: wordsOf(error) });
  process.exit(1);
});

try {
  await serve(JSON.parse(process.env[settingsVariable] ?? "{}"));
} catch (error) {
  tell({ type: "failed", words: wordsOf(error) });
  process.disconnect();
  process.exit(1);
}
