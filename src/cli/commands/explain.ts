import { RunId } from "#kernel";
import {
  type AgentView,
  allAgents,
  type Facts,
  fromEvents,
  type RunFacts,
  type Why,
  why,
  whyNotBegun,
  whyUnanswered,
} from "#view";
import { whyLines } from "../views/why-lines.ts";
import { snapshot } from "../client/snapshot.ts";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import { screenOf } from "../terminal.ts";
import { asTypedIn, type Context, linkLines, printLines, sayJson } from "./command.ts";

/** Runs whose state is requested at most. */
const mostAsked = 20;

/** Milliseconds a worker may take to report the state of a run. */
const requestTimeoutMs = 10_000;

/** Explains why a run stopped or waits. */
export async function explain(context: Context, id: string): Promise<number> {
  const { client } = context;
  const model = await snapshot(client, id);
  const runId = id.includes("~") ? RunId.parse(id) : RunId.root(model.treeId);
  const all = model.root ? [...allAgents(model.root)] : [];
  const run = all.find((each) => each.runId === runId);
  if (!run) {
    const { status } = await client.runState(runId, AbortSignal.timeout(requestTimeoutMs));
    // The store may be a little behind.
    if (status !== "pending") throw createUnknownRunError(runId);
    return printReason(context, { runId, status, stopReason: null }, whyNotBegun(runId));
  }
  const parent = all.find((each) => each.runId === run.parentRunId) ?? null;
  const known = await askFacts(context, run, parent);
  const now = Date.now();
  const told = why(known ?? fromEvents(run, parent), now);
  const { status } = known?.facts.get(runId) ?? run;
  const reason = known || run.end ? told : whyUnanswered(run, told);
  return printReason(context, { runId, status, stopReason: run.end?.stopReason ?? null }, reason);
}

function createUnknownRunError(run: RunId): CliError {
  return new CliError(`run ${run} has no events yet`, { code: "not-begun", exitCode: ExitCode.notFound });
}

async function printReason(
  context: Context,
  standing: ExplainedRun,
  { hints, ...rest }: Why,
): Promise<number> {
  const { runId } = standing;
  const reason = { ...rest, hints: hints.map(asTypedIn(context)) };
  if (context.json) sayJson(context, { treeId: RunId.tree(runId), ...standing, ...reason });
  else {
    const screen = screenOf(context.terminal);
    const link = await linkLines(context, `/runs/${encodeURIComponent(RunId.tree(runId))}`, screen);
    printLines(context, [...whyLines(reason, screen), ...link]);
  }
  return ExitCode.ok;
}

interface ExplainedRun {
  readonly runId: RunId;
  readonly status: string;
  readonly stopReason: string | null;
}

/** Returns all facts about a run. Null if no worker answers. */
async function askFacts(
  { client }: Context,
  run: AgentView,
  parent: AgentView | null,
): Promise<RunFacts | null> {
  const { runId } = run;
  const alive = [...allAgents(run)].filter(({ end }) => end === null).slice(0, mostAsked);
  const factsOf = async ({ runId: id }: AgentView): Promise<readonly [RunId, Facts]> => {
    const { status } = await client.runState(id);
    return [id, { status, blocker: await client.blocker(id).catch(() => null) }];
  };
  try {
    // First checks whether a worker answers.
    await client.runState(runId, AbortSignal.timeout(requestTimeoutMs));
    const [facts, result, ledger, pending] = await Promise.all([
      Promise.all(alive.map(factsOf)),
      client.result(runId),
      client.ledger(runId).catch(() => null),
      client.approvals({ tree: RunId.tree(runId), state: "pending" }),
    ]);
    return { run, parent, facts: new Map(facts), result, ledger, pending: pending.items };
  } catch (error) {
    if (isUnanswered(error)) return null;
    throw error;
  }
}

function isUnanswered(error: unknown): boolean {
  if (error instanceof CliError) return error.code === "no-answer" || error.code === "retryable";
  return error instanceof Error && error.name === "TimeoutError";
}
