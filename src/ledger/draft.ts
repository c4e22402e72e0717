import type { AttemptId, RunId } from "#kernel";
import type { Doubt, RunAccount } from "./money/account.ts";
import type { DecisionResult, LedgerEffect } from "./command.ts";
import { countSlot, holdsSlot, idleTime, isInLine, standsStill, toWorkingTime } from "./slots/count.ts";
import { enterLine, leaveLine } from "./slots/line.ts";
import type { Holder, LedgerState, Queued, RowNames, Slot, TreeState } from "./state.ts";
import { entries, Table } from "./table.ts";

/** The changes of one decision. They become visible when it is `decided`. */
export class Draft {
  tree: TreeState;
  readonly slots: SlotTable;
  readonly accounts: Table<RunId, RunAccount>;
  readonly effects: LedgerEffect[] = [];
  readonly workingTime: number;
  readonly #from: LedgerState;
  // Created when they are needed, which is in few decisions.
  #waits: Table<RunId, readonly RunId[]> | null = null;
  #pages: Table<string, readonly Queued[]> | null = null;
  #doubts: Table<AttemptId, Doubt> | null = null;

  /** A command that changes no slot needs no time. */
  constructor(from: LedgerState, at = 0) {
    const { source } = from;
    this.#from = from;
    this.workingTime = toWorkingTime(from.tree, at);
    this.tree = from.tree;
    this.slots = new SlotTable(this, from);
    this.accounts = new Table("account", from.accounts, source && ((run) => source.account(run)));
  }

  get waits(): Table<RunId, readonly RunId[]> {
    const { waits, source } = this.#from;
    return (this.#waits ??= new Table("wait", waits, source && ((run) => source.waits(run))));
  }

  get pages(): Table<string, readonly Queued[]> {
    const { pages, source } = this.#from;
    return (this.#pages ??= new Table("page", pages, source && ((name) => source.page(name))));
  }

  get doubts(): Table<AttemptId, Doubt> {
    return (this.#doubts ??= new Table("doubt", this.#from.doubts));
  }

  /** Returns every live run with its slot. Reads all of them, so only rare decisions use it. */
  allSlots(): readonly (readonly [RunId, Slot])[] {
    const { source } = this.#from;
    const known = entries(this.slots.rows);
    const others = source?.runs().filter((run) => !this.slots.isKnown(run)) ?? [];
    if (others.length === 0) return known;
    this.prefetch({ slots: others });
    return [...known, ...others.map((run) => [run, this.slots.need(run)] as const)];
  }

  /** Returns the runs that hold a slot. Reads no slots. */
  holders(): readonly Holder[] {
    const known = entries(this.slots.rows).flatMap(([run, slot]) =>
      holdsSlot(slot) ? [{ run, priority: slot.priority, order: slot.order }] : [],
    );
    const others = this.#from.source?.holders().filter(({ run }) => !this.slots.isKnown(run)) ?? [];
    return [...known, ...others];
  }

  /** Returns a function that lists the live children of a run. Valid until the next change of a slot. */
  findChildren(): (run: RunId) => readonly RunId[] {
    const { source } = this.#from;
    const known = Map.groupBy(entries(this.slots.rows), ([, { parent }]) => parent);
    return (run) => {
      const others = source?.children(run).filter((child) => !this.slots.isKnown(child)) ?? [];
      return [...others, ...(known.get(run) ?? []).map(([child]) => child)];
    };
  }

  /** Announces rows that will be read. */
  prefetch(rows: RowNames): void {
    this.#from.source?.prefetch(rows);
  }

  get state(): LedgerState {
    const from = this.#from;
    const { tree } = this;
    const slots = this.slots.rows;
    const accounts = this.accounts.rows;
    const waits = this.#waits ? this.#waits.rows : from.waits;
    const pages = this.#pages ? this.#pages.rows : from.pages;
    const doubts = this.#doubts ? this.#doubts.rows : from.doubts;
    const unchanged =
      tree === from.tree &&
      slots === from.slots &&
      waits === from.waits &&
      pages === from.pages &&
      accounts === from.accounts &&
      doubts === from.doubts;
    return unchanged ? from : { ...from, tree, slots, waits, pages, accounts, doubts };
  }

  toResult<Decision>(decision: Decision): DecisionResult<Decision> {
    return { state: this.state, decision, effects: this.effects };
  }

  /**
   * Returns the decision for a command about one run, without the effect that the run got its slot: the decision
   * reports it.
   */
  toResultFor<Decision>(run: RunId, decision: Decision): DecisionResult<Decision> {
    const effects = this.effects.filter(
      (effect) => !((effect.kind === "launch" || effect.kind === "resume") && effect.run === run),
    );
    return { state: this.state, decision, effects };
  }
}

/**
 * The slots of a draft. Each change of a slot updates the headcount, the queue, and the figures of its parent. If the
 * run stops standing still, or begins to, its clock and those of the runs above it are set.
 */
class SlotTable extends Table<RunId, Slot> {
  readonly #draft: Draft;

  constructor(draft: Draft, { slots, source }: LedgerState) {
    super("slot", slots, source && ((run) => source.slot(run)));
    this.#draft = draft;
  }

  override put(run: RunId, slot: Slot): void {
    const before = this.get(run);
    const page = this.#moveInLine(run, before, slot);
    this.#count(run, before, slot);
    this.#replace(run, before, page === slot.page ? slot : { ...slot, page });
  }

  override delete(run: RunId): void {
    const before = this.get(run);
    this.#moveInLine(run, before, undefined);
    super.delete(run);
    this.#count(run, before, undefined);
    this.#countInParents(before, undefined);
  }

  /** Updates the queue. Returns the page of the queue that the run is in now. */
  #moveInLine(run: RunId, before: Slot | undefined, after: Slot | undefined): number | null {
    const wasQueued = before !== undefined && before.page !== null;
    const isQueued = after !== undefined && isInLine(after) && !after.skipped;
    const stays = wasQueued && isQueued && before.priority === after.priority && before.since === after.since;
    if (stays) return before.page;
    if (wasQueued) leaveLine(this.#draft, { line: "runs", place: before }, (entry) => entry.run === run);
    if (!isQueued) return null;
    const { priority, since, order, deadline } = after;
    return enterLine(this.#draft, { line: "runs", priority }, { run, since, order, deadline });
  }

  #count(run: RunId, before: Slot | undefined, after: Slot | undefined): void {
    const { tree } = this.#draft;
    const headcount = countSlot(tree.headcount, run, { before, after });
    if (headcount !== tree.headcount) this.#draft.tree = { ...tree, headcount };
  }

  /** Writes a slot with its clock, then the figures of the runs above it. */
  #replace(run: RunId, before: Slot | undefined, changed: Slot): void {
    const isStill = standsStill(changed);
    const after = isStill === (changed.idleSince !== null) ? changed : this.#setClock(run, changed, isStill);
    super.put(run, after);
    const isSame =
      before && before.parent === after.parent && (before.idleSince === null) === (after.idleSince === null);
    if (!isSame) this.#countInParents(before, after);
  }

  /** Starts or stops the clock of a run's standstill. */
  #setClock(run: RunId, slot: Slot, isStill: boolean): Slot {
    const { workingTime, effects } = this.#draft;
    if (isStill) return { ...slot, idleSince: workingTime };
    if (slot.hasLateAsks) effects.push({ kind: "goesOn", run });
    return { ...slot, idleSince: null, idleMs: idleTime(slot, workingTime), hasLateAsks: false };
  }

  #countInParents(before: Slot | undefined, after: Slot | undefined): void {
    const from = before?.parent ?? null;
    const to = after?.parent ?? null;
    const wasIdle = before && before.idleSince !== null ? 1 : 0;
    const isIdle = after && after.idleSince !== null ? 1 : 0;
    if (from !== to) {
      this.#countIn(from, -1, -wasIdle);
      this.#countIn(to, 1, isIdle);
    } else if (isIdle !== wasIdle) this.#countIn(to, 0, isIdle - wasIdle);
  }

  /** Changes the figures of a parent. */
  #countIn(parent: RunId | null, children: number, idle: number): void {
    const slot = parent === null ? undefined : this.get(parent);
    if (parent === null || !slot) return;
    this.#replace(parent, slot, {
      ...slot,
      children: slot.children + children,
      idleChildren: slot.idleChildren + idle,
    });
  }
}
