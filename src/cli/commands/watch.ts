import type { TreeId } from "#kernel";
import { systemClock } from "#base";
import { followRun } from "../client/follow.ts";
import { ExitCode } from "../exit-code.ts";
import { toClosingLines } from "../live/show.ts";
import { WatchScreen } from "../watch/watch-screen.ts";
import { Watcher } from "../watch/watcher.ts";
import { type Context, printLines } from "./command.ts";
import { attend } from "./run.ts";

/** Shows a live tree until the user leaves. Without a terminal, or as JSON: one line per event. */
export async function watchTree(context: Context, id: string): Promise<number> {
  const { client, terminal } = context;
  const { treeId } = await client.runState(id);
  if (context.json || !terminal.out.isTTY)
    return attend(context, treeId, { detach: false, cancelOnInterrupt: false, deltas: false });
  const watcher = new Watcher(client, treeId);
  const leave = new AbortController();
  const release = terminal.onInterrupt(() => watcher.leave());
  const screen = new WatchScreen(watcher, terminal, systemClock);
  try {
    const fed = feed(context, watcher, { treeId, signal: leave.signal });
    await Promise.race([Promise.all([fed, watcher.left]), watcher.left, screen.failed]);
  } finally {
    leave.abort();
    release();
    screen.close();
  }
  const result = await client.result(treeId);
  if (result) printLines(context, toClosingLines(context, watcher.model, result));
  else terminal.errors.write(`${treeId}: ${await describeLeft(context, treeId)}\n`);
  return ExitCode.ok;
}

/** Returns the message about the tree's state when the user leaves. */
async function describeLeft({ client, terminal }: Context, treeId: TreeId): Promise<string> {
  const { status } = await client.runState(treeId);
  return status === "paused" ? `paused\n  → ${terminal.command} resume ${treeId}` : "continues";
}

async function feed(
  { client }: Context,
  watcher: Watcher,
  { treeId, signal }: { readonly treeId: TreeId; readonly signal: AbortSignal },
): Promise<void> {
  for await (const followed of followRun(client, treeId, { signal, deltas: true })) {
    if (followed.kind === "event") watcher.see(followed.event);
    else if (followed.kind === "delta") watcher.applyDelta(followed.delta);
    else watcher.line(followed.kind);
  }
  watcher.markEnded();
}
