import { setTimeout as wait } from "node:timers/promises";
import type { TreeId } from "#kernel";
import { formatCounted } from "#view";
import { followRun } from "../client/follow.ts";
import type { StartBody } from "../client/reeve-client.ts";
import { CliError } from "../cli-error.ts";
import { ExitCode, exitCodeOf } from "../exit-code.ts";
import { JsonShow, LogShow, type Show } from "../live/show.ts";
import { TreeShow } from "../live/tree-show.ts";
import { type Context, printLines, sayJson } from "./command.ts";

/** Options of `reeve run`. */
export interface RunOptions {
  /** Print the id and leave. */
  readonly detach: boolean;
  /** Ctrl-C cancels at once, instead of detaching. */
  readonly cancelOnInterrupt: boolean;
  /** Whether JSON output includes pieces of answers. */
  readonly deltas: boolean;
}

const secondThoughtMs = 2_000;

/** Starts a tree and shows it until it is over. */
export async function run(context: Context, body: StartBody, options: RunOptions): Promise<number> {
  const { treeId } = await start(context, body);
  if (options.detach) {
    if (context.json) sayJson(context, { treeId });
    else printLines(context, [treeId]);
    return ExitCode.ok;
  }
  return attend(context, treeId, options);
}

/** Starts a tree. @throws CliError that names the agents there are, if it is none of them */
async function start({ client }: Context, body: StartBody): Promise<{ readonly treeId: TreeId }> {
  try {
    return await client.start(body);
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== "not-found") throw error;
    // A key may start a tree and not list agents.
    const agents = await client.agents().catch(() => []);
    const names = agents.map(({ name }) => name).join(", ");
    const hint = names === "" ? error.hint : `agents: ${names}`;
    throw new CliError(error.message, { code: error.code, exitCode: error.exitCode, hint });
  }
}

/** Shows a tree until it is over, or until Ctrl-C. */
export async function attend(context: Context, treeId: TreeId, options: RunOptions): Promise<number> {
  // Requested first, because the tree view draws itself as soon as it is created.
  const path = `/runs/${encodeURIComponent(treeId)}`;
  const address = context.json ? null : await context.client.screenAddress(path);
  const { show, deltas } = showFor(context, treeId, options);
  const leave = new AbortController();
  const release = context.terminal.onInterrupt(() => leave.abort());
  try {
    show.begin(treeId, address);
    for await (const followed of followRun(context.client, treeId, { signal: leave.signal, deltas })) {
      if (followed.kind === "event") show.event(followed.event);
      else if (followed.kind === "delta") show.delta(followed.delta);
      else show.line(followed.kind);
    }
    const result = await context.client.result(treeId);
    if (!result) throw new TypeError(`tree ${treeId} has ended without a result`);
    show.end(result);
    return exitCodeOf(result.status);
  } catch (error) {
    show.leave();
    if (!leave.signal.aborted) throw error;
    release();
    return options.cancelOnInterrupt ? cancelTree(context, treeId) : detach(context, treeId);
  } finally {
    show.leave();
    release();
  }
}

/** Prints how to find the tree again. A second Ctrl-C within two seconds cancels it. */
async function detach(context: Context, treeId: TreeId): Promise<number> {
  const { errors, command } = context.terminal;
  errors.write(
    `\ndetached; ${treeId} continues. Press Ctrl-C again to cancel it.\n  → ${command} watch ${treeId}\n`,
  );
  const again = new AbortController();
  const release = context.terminal.onInterrupt(() => again.abort());
  await wait(secondThoughtMs, undefined, { signal: again.signal }).catch(() => undefined);
  release();
  return again.signal.aborted ? cancelTree(context, treeId) : ExitCode.detached;
}

async function cancelTree(context: Context, treeId: TreeId): Promise<number> {
  context.terminal.errors.write(`\ncancelling ${treeId}\n`);
  const { runs } = await context.client.cancel(treeId, "interrupted");
  context.terminal.errors.write(`cancelled; ${formatCounted(runs.length, "run")} stopped\n`);
  return ExitCode.cancelled;
}

/** Text output shows answers as they stream; JSON output only if `--deltas` is set. */
function showFor(context: Context, treeId: TreeId, { deltas }: RunOptions): { show: Show; deltas: boolean } {
  if (context.json) return { show: new JsonShow(context), deltas };
  if (!context.terminal.out.isTTY) return { show: new LogShow(context, treeId), deltas: false };
  return { show: new TreeShow(context, treeId), deltas: true };
}
