import { setTimeout as wait } from "node:timers/promises";
import type { NumberedEvent, RunResult, TreeId } from "#kernel";
import { CapReader } from "../client/cap-reader.ts";
import { follow } from "../client/follow.ts";
import type { StartBody } from "../client/reeve-client.ts";
import { ExitCode, exitCodeOf } from "../exit-code.ts";
import { eventLine } from "../live/event-line.ts";
import { LiveRegion } from "../live/live-region.ts";
import { screenOf } from "../terminal.ts";
import { cleanLines } from "../text/width.ts";
import { TreeModel } from "../tree/tree-model.ts";
import { receiptLines } from "../views/receipt.ts";
import { treeHeadline, treeLines } from "../views/tree-lines.ts";
import { type Context, say, sayJson } from "./command.ts";

/** How `reeve run` behaves. */
export interface RunOptions {
  /** Print the id and leave. */
  readonly detach: boolean;
  /** Ctrl-C cancels at once, instead of detaching. */
  readonly cancelOnInterrupt: boolean;
}

const frameMs = 100;
const secondThoughtMs = 2_000;

/** Starts a tree and shows it until it is over. */
export async function run(context: Context, body: StartBody, options: RunOptions): Promise<number> {
  const { treeId } = await context.client.start(body);
  if (options.detach) {
    if (context.json) sayJson(context, { treeId });
    else say(context, [treeId]);
    return ExitCode.ok;
  }
  return attend(context, treeId, options);
}

/** Shows a tree until it is over, or until Ctrl-C. */
export async function attend(context: Context, treeId: TreeId, options: RunOptions): Promise<number> {
  const show = context.json ? new JsonShow(context) : showFor(context, treeId);
  const leave = new AbortController();
  const release = context.terminal.onInterrupt(() => leave.abort());
  try {
    show.begin(treeId);
    for await (const followed of follow(context.client, treeId, { signal: leave.signal })) {
      if (followed.kind === "event") show.event(followed.event);
      else show.line(followed.kind);
    }
    const result = await context.client.result(treeId);
    if (!result) throw new TypeError(`the tree ${treeId} is over and has no result`);
    show.end(result);
    return exitCodeOf(result.status);
  } catch (error) {
    show.leave();
    if (!leave.signal.aborted) throw error;
    release();
    return options.cancelOnInterrupt ? cancel(context, treeId) : detach(context, treeId);
  } finally {
    show.leave();
    release();
  }
}

/** Says where to find it; whoever presses Ctrl-C again within two seconds means to cancel. */
async function detach(context: Context, treeId: TreeId): Promise<number> {
  const { errors } = context.terminal;
  errors.write(`\ndetached; ${treeId} goes on. Ctrl-C again cancels it.\n  → reeve watch ${treeId}\n`);
  const again = new AbortController();
  const release = context.terminal.onInterrupt(() => again.abort());
  await wait(secondThoughtMs, undefined, { signal: again.signal }).catch(() => undefined);
  release();
  return again.signal.aborted ? cancel(context, treeId) : ExitCode.detached;
}

async function cancel(context: Context, treeId: TreeId): Promise<number> {
  context.terminal.errors.write(`\ncancelling ${treeId}\n`);
  const { runs } = await context.client.cancel(treeId, "interrupted");
  context.terminal.errors.write(`cancelled; ${runs.length} stopped\n`);
  return ExitCode.cancelled;
}

/** How a tree is shown while it runs. */
interface Show {
  begin(treeId: TreeId): void;
  event(event: NumberedEvent): void;
  line(state: "lost" | "found"): void;
  end(result: RunResult): void;
  /** Takes away what does not stay. */
  leave(): void;
}

function showFor(context: Context, treeId: TreeId): Show {
  return context.terminal.out.isTTY ? new TreeShow(context, treeId) : new LogShow(context, treeId);
}

class JsonShow implements Show {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  begin(treeId: TreeId): void {
    sayJson(this.#context, { type: "started", treeId });
  }

  event(event: NumberedEvent): void {
    sayJson(this.#context, event);
  }

  line(): void {}

  end(result: RunResult): void {
    sayJson(this.#context, { type: "result", ...result });
  }

  leave(): void {}
}

/** One line for each thing that happens: for pipes and files. */
class LogShow implements Show {
  readonly #context: Context;
  readonly #model: TreeModel;

  constructor(context: Context, treeId: TreeId) {
    this.#context = context;
    this.#model = new TreeModel(treeId);
  }

  begin(treeId: TreeId): void {
    say(this.#context, [`tree ${treeId}`]);
  }

  event(event: NumberedEvent): void {
    this.#model.apply(event);
    const line = eventLine(event);
    if (line !== null) say(this.#context, [line]);
  }

  line(state: "lost" | "found"): void {
    say(this.#context, [state === "lost" ? "waiting for the server" : "the server is back"]);
  }

  end(result: RunResult): void {
    say(this.#context, closing(this.#context, this.#model, result));
  }

  leave(): void {}
}

/** The tree, drawn in place as it grows. */
class TreeShow implements Show {
  readonly #context: Context;
  readonly #model: TreeModel;
  readonly #caps: CapReader;
  readonly #region: LiveRegion;
  readonly #timer: NodeJS.Timeout;
  #isLost = false;

  constructor(context: Context, treeId: TreeId) {
    this.#context = context;
    this.#model = new TreeModel(treeId);
    this.#caps = new CapReader(context.client);
    this.#region = new LiveRegion(context.terminal.out);
    this.#timer = setInterval(() => this.#draw(), frameMs);
  }

  begin(treeId: TreeId): void {
    say(this.#context, [screenOf(this.#context.terminal).paint("faint", `tree ${treeId} · Ctrl-C detaches`)]);
  }

  event(event: NumberedEvent): void {
    this.#model.apply(event);
    this.#caps.see(event);
  }

  line(state: "lost" | "found"): void {
    this.#isLost = state === "lost";
  }

  end(result: RunResult): void {
    this.leave();
    say(this.#context, closing(this.#context, this.#model, result));
  }

  leave(): void {
    clearInterval(this.#timer);
    this.#region.clear();
  }

  #draw(): void {
    const { root } = this.#model;
    const screen = screenOf(this.#context.terminal);
    const waiting = this.#isLost ? [screen.paint("waiting", "waiting for the server …")] : [];
    if (!root) return this.#region.draw([screen.paint("faint", "waiting for a worker …"), ...waiting]);
    const { caps } = this.#caps;
    this.#region.draw([treeHeadline(root, caps, screen), ...treeLines(root, caps, screen), ...waiting]);
  }
}

/** The receipt, and what was said. */
export function closing(context: Context, model: TreeModel, result: RunResult): readonly string[] {
  const { root } = model;
  const receipt = root ? receiptLines(root, result, screenOf(context.terminal)) : [];
  const { output } = result;
  const words = typeof output === "string" ? output : JSON.stringify(output, null, 2);
  const said = context.terminal.out.isTTY ? cleanLines(words) : [words];
  return output === null ? receipt : [...receipt, "", ...said];
}
