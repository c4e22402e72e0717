import { pathToFileURL } from "node:url";
import { type LogRecord, restate, type RestateEngine, StartupError } from "#engines/restate";
import { type Agent, AgentId, ProgramError, type FailureLog } from "#kernel";
import { diagnosticText } from "#base";
import { agentVersion, Runtime } from "#runtime";
import { type FaultKind, listen } from "#server";
import { sqliteStore } from "#stores/sqlite";
import { agentsIn, exampleIn, optionsIn } from "./agents-in.ts";
import { Faults } from "./faults.ts";
import { missingImportsText } from "./missing-imports.ts";
import {
  settingsVariable,
  type WorkerNews,
  type WorkerOrder,
  type WorkerSettings,
} from "./worker-settings.ts";

const drainMs = 15_000;

function sendNews(news: WorkerNews): void {
  process.send?.(news);
}

async function serve(settings: WorkerSettings): Promise<void> {
  const module: object = await import(pathToFileURL(settings.file).href);
  const { ingress, admin, build, port } = settings;
  const log = ({ level, message, run, error }: LogRecord): void => {
    if (level === "info") return;
    const thrown = error && `${error.name}${error.message === undefined ? "" : `: ${error.message}`}`;
    sendNews({ type: "log", words: [run, message, thrown].filter((part) => part !== undefined).join(" ") });
  };
  const engine = restate({ ingress, admin, build, drainOnSigtermMs: drainMs, log });
  const store = await sqliteStore({ path: settings.store });
  const agents = agentsIn(module, settings.file);
  const logFailure: FailureLog = ({ diagnostic }) =>
    sendNews({ type: "log", words: diagnosticText(diagnostic) });
  // The content of every step can be looked at later.
  const defaults = { approver: "human", log: logFailure, retention: "permanent" } as const;
  const options = { ...defaults, ...optionsIn(module) };
  const faults = new Faults();
  const middleware = faults.around(options.middleware);
  const runtime = new Runtime({ ...options, middleware, agents, engine, store });
  await runtime.serve({ port });
  const onError = (error: unknown): void => sendNews({ type: "log", words: describeFailure(error) });
  let failure: string | null = null;
  process.on("message", (order: WorkerOrder) => {
    if (order.type === "failure") failure = order.words;
    else void obey(engine, build, order);
  });
  const cause = (kind: FaultKind): void => faults.cause(kind);
  const dev = { example: exampleIn(module), failure: () => failure, cause };
  // A developer wants to see a schedule tick.
  const limits = { scheduleIntervalS: 1 };
  const { url } = await listen({ runtime, port: 0, onError, dev, limits });
  const names = runtime.agents.map(({ id }) => AgentId.type(id));
  sendNews({ type: "ready", url, agents: names, program: programOf(runtime.agents) });
}

/** Names a program by the versions of its agents. */
function programOf(agents: readonly Agent[]): string {
  return JSON.stringify(agents.map((each) => JSON.stringify([each.id, agentVersion(each)])).toSorted());
}

/** Takes over runs of other builds, or counts those of one. */
async function obey(
  engine: RestateEngine,
  build: string,
  order: Exclude<WorkerOrder, { readonly type: "failure" }>,
): Promise<void> {
  try {
    if (order.type === "count") {
      const { build: counted } = order;
      return sendNews({ type: "counted", build: counted, runs: await engine.countRuns(counted) });
    }
    const { builds, only } = order;
    const moves = builds.map((from) => engine.moveRuns({ from, to: build, ...(only && { only }) }));
    await Promise.all(moves);
  } catch (error) {
    sendNews({ type: "log", words: describeFailure(error) });
  }
}

/** Returns the first lines of an error: location and message. */
function describeFailure(error: unknown): string {
  if (error instanceof ProgramError) return error.message;
  if (error instanceof StartupError || !(error instanceof Error)) return String(error);
  const ours = /node_modules|node:internal|dev\/worker/;
  const lines = (error.stack ?? error.message).split("\n").filter((line) => !ours.test(line));
  return lines.slice(0, 6).join("\n");
}

// The parent process has ended, so this worker ends too.
process.on("disconnect", () => process.exit(0));
process.on("uncaughtException", (error) => {
  sendNews({ type: "log", words: describeFailure(error) });
  process.exit(1);
});

const settings: WorkerSettings = JSON.parse(process.env[settingsVariable] ?? "{}");
try {
  await serve(settings);
} catch (error) {
  sendNews({ type: "failed", words: missingImportsText(error, settings.file) ?? describeFailure(error) });
  process.disconnect();
  process.exit(1);
}
