import type { NumberedEvent, SentResult, TreeId } from "#kernel";
import type { RunDelta } from "#runtime";
import { TreeModel } from "#view";
import { Speech } from "./speech.ts";
import { CapReader } from "../client/cap-reader.ts";
import { type Context, printLines } from "../commands/command.ts";
import { screenOf } from "../terminal.ts";
import { spokenTree } from "../views/live-row.ts";
import { treeHeadline } from "../views/tree-lines.ts";
import { LiveRegion } from "./live-region.ts";
import { toClosingLines, type Show } from "./show.ts";

const frameMs = 100;

/** The tree, drawn in place as it grows, with its live text. */
export class TreeShow implements Show {
  readonly #context: Context;
  readonly #model: TreeModel;
  readonly #speech = new Speech();
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

  begin(treeId: TreeId, address: string | null): void {
    const { paint } = screenOf(this.#context.terminal);
    const where = address === null ? "" : ` · ${address}`;
    printLines(this.#context, [paint("faint", `tree ${treeId}${where} · Ctrl-C detaches`)]);
  }

  event(event: NumberedEvent): void {
    this.#model.apply(event);
    this.#caps.see(event);
    this.#speech.see(event);
  }

  delta(delta: RunDelta): void {
    this.#model.applyDelta(delta);
    this.#speech.applyDelta(delta);
  }

  line(state: "lost" | "found"): void {
    this.#isLost = state === "lost";
  }

  end(result: SentResult): void {
    this.leave();
    printLines(this.#context, toClosingLines(this.#context, this.#model, result));
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
    const room = this.#region.height - 1 - waiting.length;
    const tree = spokenTree(root, { caps, speech: this.#speech, room }, screen);
    this.#region.draw([treeHeadline(root, caps, screen), ...tree, ...waiting]);
  }
}
