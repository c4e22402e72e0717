import type { ApprovalId, ApprovalRecord, NumberedEvent, TreeId } from "#kernel";
import type { RunDelta } from "#runtime";
import { errorMessage } from "#base";
import { TreeModel, type AgentView } from "#view";
import { Speech } from "../live/speech.ts";
import { CapReader, type CapSource } from "../client/cap-reader.ts";
import type { ReeveClient } from "../client/reeve-client.ts";
import { press, type WatchKey, type WatchOrder } from "./watch-keys.ts";
import { fitsReview, type WatchScreen, rowsShown, watchLines } from "./watch-lines.ts";
import { atFirst, scrollTo, type WatchState } from "./watch-state.ts";
import { treeRows } from "../views/tree-lines.ts";

/** A watched tree: receives events and keys, returns screens. */
export class Watcher {
  readonly model: TreeModel;
  readonly #client: ReeveClient;
  readonly #caps: CapSource;
  readonly #speech = new Speech();
  readonly #leave = Promise.withResolvers<void>();
  #state: WatchState = atFirst;
  /** The screen that was drawn last. */
  #screen: WatchScreen | null = null;

  constructor(client: ReeveClient, treeId: TreeId, caps: CapSource = new CapReader(client)) {
    this.#client = client;
    this.model = new TreeModel(treeId);
    this.#caps = caps;
  }

  /** Resolves when the user leaves. */
  get left(): Promise<void> {
    return this.#leave.promise;
  }

  see(event: NumberedEvent): void {
    this.model.apply(event);
    this.#caps.see(event);
    this.#speech.see(event);
  }

  applyDelta(delta: RunDelta): void {
    this.model.applyDelta(delta);
    this.#speech.applyDelta(delta);
  }

  leave(): void {
    this.#leave.resolve();
  }

  line(state: "lost" | "found"): void {
    this.#set({ ...this.#state, isLost: state === "lost" });
  }

  /** Marks the tree as ended. It remains on the screen. */
  markEnded(): void {
    this.#set({ ...this.#state, note: "the tree has ended · q leaves and prints the receipt" });
  }

  lines(screen: WatchScreen): readonly string[] {
    this.#screen = screen;
    const watched = { root: this.model.root, caps: this.#caps.caps, speech: this.#speech };
    return watchLines(watched, this.#state, screen);
  }

  press(key: WatchKey, height: number): void {
    const root = this.model.root;
    const shown = rowsShown(height);
    const { prompt } = this.#state;
    // A call that does not fit the screen is not approved.
    if (prompt?.kind === "approve" && !(this.#screen && fitsReview(prompt.record, this.#screen)))
      return this.#set({ ...this.#state, prompt: null });
    const { state, order } = press(this.#state, key, { root, pageRows: shown });
    this.#set({ ...state, top: root ? topOf(state, root, shown) : 0 });
    if (order) void this.#obey(order);
  }

  async #obey(order: WatchOrder): Promise<void> {
    try {
      const note = await this.#do(order);
      this.#set({ ...this.#state, note });
    } catch (error) {
      this.#set({ ...this.#state, note: errorMessage(error) });
    }
  }

  async #do(order: WatchOrder): Promise<string | null> {
    switch (order.kind) {
      case "leave":
        this.leave();
        return null;
      case "pause":
        await this.#client.pause(order.run);
        return `${order.run}: pausing (stops before its next step)`;
      case "resume":
        await this.#client.resume(order.run);
        return `${order.run}: resumed`;
      case "cancel":
        this.#set({ ...this.#state, note: `cancelling ${order.run} …` });
        await this.#client.cancel(order.run, "user");
        return `${order.run}: cancelled`;
      case "top-up":
        await this.#client.topUp(order.run, { maxCostUsd: order.dollars });
        return `${order.run}: topped up by $${order.dollars}`;
      case "review":
        this.#set({ ...this.#state, prompt: { kind: "approve", record: await this.#read(order.approval) } });
        return null;
      case "approve": {
        const { id, hash } = order.record;
        return `${(await this.#client.decide(id, "approve", { hash })).decision} ${id}`;
      }
      case "deny":
        return `${(await this.#client.decide(order.approval, "deny", {})).decision} ${order.approval}`;
    }
  }

  /** Reads a call that waits for approval. @throws Error if none does any more */
  async #read(id: ApprovalId): Promise<ApprovalRecord> {
    const { items } = await this.#client.approvals({ tree: this.model.treeId, state: "pending" });
    const record = items.find((item) => item.id === id);
    if (!record) throw new Error(`${id} no longer waits for approval`);
    return record;
  }

  #set(state: WatchState): void {
    this.#state = state;
  }
}

function topOf({ top, selected }: WatchState, root: AgentView, shown: number): number {
  const rows = treeRows(root);
  const at = Math.max(
    0,
    rows.findIndex(({ run }) => run.runId === selected),
  );
  return scrollTo(top, at, { all: rows.length, shown });
}
