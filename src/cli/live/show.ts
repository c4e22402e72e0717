import type { NumberedEvent, RunId, SentResult, TreeId } from "#kernel";
import type { RunDelta } from "#runtime";
import { cleanLines, TreeModel } from "#view";
import { asTypedIn, type Context, printLines, sayJson } from "../commands/command.ts";
import { screenOf } from "../terminal.ts";
import { receiptLines } from "../views/receipt.ts";
import { eventLine } from "./event-line.ts";

/** A view of a running tree. */
export interface Show {
  /** `address`: its page in the dashboard; null: none. */
  begin(treeId: TreeId, address: string | null): void;
  event(event: NumberedEvent): void;
  /** A piece of an answer, where they were asked for. */
  delta(delta: RunDelta): void;
  line(state: "lost" | "found"): void;
  end(result: SentResult): void;
  /** Removes the temporary parts of the view. */
  leave(): void;
}

/** Each event as a line of JSON: for programs. */
export class JsonShow implements Show {
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

  delta(delta: RunDelta): void {
    sayJson(this.#context, { type: "delta", ...delta });
  }

  line(): void {}

  end(result: SentResult): void {
    sayJson(this.#context, { type: "result", ...result });
  }

  leave(): void {}
}

/** One line per event, for pipes and files. */
export class LogShow implements Show {
  readonly #context: Context;
  readonly #model: TreeModel;
  /** The last line of each run. */
  readonly #last = new Map<RunId, string>();

  constructor(context: Context, treeId: TreeId) {
    this.#context = context;
    this.#model = new TreeModel(treeId);
  }

  begin(treeId: TreeId, address: string | null): void {
    printLines(this.#context, [address === null ? `tree ${treeId}` : `tree ${treeId} · ${address}`]);
  }

  event(event: NumberedEvent): void {
    this.#model.apply(event);
    const line = eventLine(event, this.#context.terminal.command);
    // A landing call is often refused like the previous call. The same line is printed once.
    if (line === null || line === this.#last.get(event.runId)) return;
    this.#last.set(event.runId, line);
    printLines(this.#context, [line]);
  }

  delta(): void {}

  line(state: "lost" | "found"): void {
    printLines(this.#context, [
      state === "lost" ? "waiting for the server" : "connected to the server again",
    ]);
  }

  end(result: SentResult): void {
    printLines(this.#context, toClosingLines(this.#context, this.#model, result));
  }

  leave(): void {}
}

/** Returns the full answer and the receipt. */
export function toClosingLines(context: Context, model: TreeModel, result: SentResult): readonly string[] {
  const { root } = model;
  const receipt = root ? receiptLines(root, result, screenOf(context.terminal)).map(asTypedIn(context)) : [];
  const { output, withheld } = result;
  if (withheld) return ["answer not shown: the key lacks the scope content", "", ...receipt];
  if (output === null) return receipt;
  const words = typeof output === "string" ? output : JSON.stringify(output, null, 2);
  const said = context.terminal.out.isTTY ? cleanLines(words) : [words];
  return [...said, "", ...receipt];
}
