import type { TreeId } from "#kernel";
import { follow } from "../client/follow.ts";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import { paintOf } from "../terminal.ts";
import { Watcher } from "../watch/watcher.ts";
import { type Context, say } from "./command.ts";
import { attend, closing } from "./run.ts";

/** A live tree until it is over or its watcher leaves. Without a terminal, or as JSON: what happens, line by line. */
export async function watch(context: Context, id: string): Promise<number> {
  const { treeId } = await context.client.standing(id);
  if (context.json || !context.terminal.out.isTTY)
    return attend(context, treeId, { detach: false, cancelOnInterrupt: false });
  const { render, createElement, WatchScreen } = await screenParts();
  const watcher = new Watcher(context.client, treeId);
  const paint = paintOf(context.terminal, context.terminal.out);
  const leave = new AbortController();
  const screen = render(createElement(WatchScreen, { watcher, paint, now: () => Date.now() }), {
    alternateScreen: true,
    incrementalRendering: true,
  });
  try {
    void Promise.race([watcher.left, screen.waitUntilExit()]).then(() => leave.abort());
    await feed(context, watcher, { treeId, signal: leave.signal });
    watcher.over();
    await Promise.race([watcher.left, screen.waitUntilExit()]);
  } catch (error) {
    if (!leave.signal.aborted) throw error;
  } finally {
    screen.unmount();
    await screen.waitUntilExit();
  }
  const result = await context.client.result(treeId);
  if (result) say(context, closing(context, watcher.model, result));
  else context.terminal.errors.write(`${treeId} goes on\n`);
  return ExitCode.ok;
}

async function feed(
  { client }: Context,
  watcher: Watcher,
  { treeId, signal }: { readonly treeId: TreeId; readonly signal: AbortSignal },
): Promise<void> {
  for await (const followed of follow(client, treeId, { signal })) {
    if (followed.kind === "event") watcher.see(followed.event);
    else watcher.line(followed.kind);
  }
}

/** Only this command needs them, so only it asks for them. */
async function screenParts() {
  // React's development build costs half as much again for each redraw.
  process.env["NODE_ENV"] ??= "production";
  try {
    const [{ render }, { createElement }, { WatchScreen }] = await Promise.all([
      import("ink"),
      import("react"),
      import("../watch/watch-screen.ts"),
    ]);
    return { render, createElement, WatchScreen };
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new CliError("reeve watch draws with ink and react, which are not installed", {
      code: "missing-package",
      exitCode: ExitCode.failure,
      hint: "npm install ink react, or use reeve watch --json",
    });
  }
}
