import { Json, type AttemptId, type NumberedEvent, RunId } from "#kernel";
import { Ledger, type Account, type Doubt, type Slot } from "#ledger";
import type { BeginArgument, ReplyOf } from "../../src/runtime/tree/protocol.ts";
import type { RunRecord, TreeRecord } from "../../src/runtime/tree/records.ts";
import type { BillEntry, Books } from "./books.ts";
import type { Transition } from "./watched.ts";

type Slots = Readonly<Record<RunId, Slot>>;

/** What the checker knows of one tree. */
interface TreeView {
  record: TreeRecord;
  slots: Slots;
  readonly runs: Map<RunId, RunRecord>;
  readonly doubts: Map<string, Doubt>;
  readonly events: NumberedEvent[];
  readonly eventIds: Set<string>;
  readonly ended: Set<string>;
  /** When each run was cancelled. */
  readonly cancelledAt: Map<string, number>;
  /** What the books say was settled. */
  settledTokens: number;
  readonly settledAttempts: Set<string>;
}

/** Within this a cancelled run has ended, if nothing dies meanwhile. */
const longestCancelMs = 5_000;

/** Holds the engine's state, at every transition, against itself and against the books of the other side. */
export class Checker {
  readonly trees = new Map<string, TreeView>();
  readonly #books: Books;
  readonly #now: () => number;
  readonly #violate: (text: string) => void;
  readonly #onEvent: (event: NumberedEvent) => void;
  readonly #journaled = new Set<string>();
  readonly #matched = new Set<BillEntry>();
  /** How much longer a cancel may take, because something has died. */
  allowanceMs = 0;

  constructor(
    books: Books,
    options: {
      readonly now: () => number;
      readonly violate: (text: string) => void;
      readonly onEvent: (event: NumberedEvent) => void;
    },
  ) {
    this.#books = books;
    this.#now = options.now;
    this.#violate = options.violate;
    this.#onEvent = options.onEvent;
    books.onBegin = (begun) => this.#begun(begun);
  }

  /** Every run that has not ended. */
  live(): readonly string[] {
    const live: string[] = [];
    for (const { runs } of this.trees.values()) live.push(...runs.keys());
    return live;
  }

  /** A step has its result. */
  journaled(step: string, value: Json): void {
    const { kind } = Json.as<{ readonly kind?: string }>(value);
    if (kind !== "answered" && kind !== "done") return;
    if (this.#journaled.has(step)) this.#violate(`${step} was journaled twice`);
    this.#journaled.add(step);
  }

  /** Something out in the world begins. */
  #begun({ tree, run, step }: { readonly tree: string; readonly run: string; readonly step: string }): void {
    const view = this.trees.get(tree);
    if (!view) return this.#violate(`a call in ${tree}, which does not exist`);
    if (this.#journaled.has(step)) this.#violate(`${step} begins again after it was journaled`);
    if (view.ended.has(run)) this.#violate(`${step} begins after its run has ended`);
    const { maxAgents } = view.record.ledger.spawn;
    const flying = this.#books.inFlight(tree);
    if (flying.size > maxAgents) this.#violate(`${[...flying].join(", ")} work at once, of ${maxAgents}`);
  }

  transition(transition: Transition): void {
    if (transition.type !== "tree") return;
    const view = this.#viewOf(transition);
    if (!view) return;
    this.#checkGate(transition, view);
    this.#update(transition, view);
    this.#checkHeadcount(view);
    this.#checkAccounts(view);
    this.#checkBill(view);
  }

  #viewOf({ state }: Transition): TreeView | null {
    const record = Json.as<TreeRecord | null>(state.get("tree") ?? null);
    if (!record) return null;
    let view = this.trees.get(record.treeId);
    if (!view) {
      view = {
        record,
        slots: {},
        runs: new Map(),
        doubts: new Map(),
        events: [],
        eventIds: new Set(),
        ended: new Set(),
        cancelledAt: new Map(),
        settledTokens: 0,
        settledAttempts: new Set(),
      };
      this.trees.set(record.treeId, view);
    }
    return view;
  }

  /** Nothing begins in a run that has ended, is cancelled, held, without a slot or late. */
  #checkGate({ method, argument, reply }: Transition, { slots, record }: TreeView): void {
    if (method !== "begin" || Json.as<ReplyOf<"begin">>(reply).gate.kind !== "granted") return;
    const { run, at } = Json.as<BeginArgument>(argument);
    const slot = slots[run];
    const now = Math.max(at, record.clock);
    if (!slot) this.#violate(`${run} may begin something after its end`);
    else if (slot.cancelled !== null) this.#violate(`${run} may begin something although it is cancelled`);
    else if (slot.held || slot.phase === "parked" || slot.phase === "pending" || slot.phase === "yielding")
      this.#violate(`${run} may begin something although it is ${slot.held ? "held" : slot.phase}`);
    else if (slot.deadline !== null && now > slot.deadline)
      this.#violate(`${run} may begin something after its deadline`);
  }

  #update({ state, written }: Transition, view: TreeView): void {
    const before = view.record;
    view.record = Json.as<TreeRecord>(state.get("tree") ?? null);
    view.slots = Json.as<Slots>(state.get("slots") ?? {});
    if (view.record.clock < before.clock) this.#violate("the tree's time goes back");
    for (const [name, { before: was, after }] of written) {
      const [kind = "", id = ""] = splitKey(name);
      if (kind === "run") this.#updateRun(view, RunId.parse(id), after);
      if (kind === "doubt") this.#updateDoubt(view, id, after);
      if (kind !== "ended") continue;
      if (was !== null) this.#violate(`${id} has ended twice`);
      view.ended.add(id);
      this.#checkCancel(view, id);
    }
    this.#noteCancels(view);
    this.#addEvents(state, view);
  }

  #updateRun(view: TreeView, id: RunId, after: Json): void {
    if (after === null) view.runs.delete(id);
    else view.runs.set(id, Json.as<RunRecord>(after));
  }

  #updateDoubt(view: TreeView, id: string, after: Json): void {
    if (after === null) view.doubts.delete(id);
    else view.doubts.set(id, Json.as<Doubt>(after));
  }

  #noteCancels(view: TreeView): void {
    for (const [run, { cancelled }] of Object.entries(view.slots)) {
      if (cancelled !== null && !view.cancelledAt.has(run))
        view.cancelledAt.set(run, this.#now() - this.allowanceMs);
    }
  }

  #checkCancel(view: TreeView, run: string): void {
    const at = view.cancelledAt.get(run);
    if (at === undefined) return;
    const took = this.#now() - at - this.allowanceMs;
    if (took > longestCancelMs) this.#violate(`${run} ended ${took} ms after it was cancelled`);
  }

  #addEvents(state: Transition["state"], view: TreeView): void {
    const { tail, seq } = view.record;
    const known = view.events.length;
    if (seq < known) this.#violate(`${known} events, now ${seq}`);
    for (let next = known + 1; next <= seq; next++) {
      const page = Json.as<readonly NumberedEvent[]>(
        state.get(`events/${Math.floor((next - 1) / 16)}`) ?? [],
      );
      const event = [...page, ...tail].find((each) => each.seq === next);
      if (!event) return this.#violate(`event ${next} is missing`);
      if (view.eventIds.has(event.eventId)) this.#violate(`event ${event.eventId} is told twice`);
      view.eventIds.add(event.eventId);
      view.events.push(event);
      this.#onEvent(event);
      if (event.type === "budget.settled" && !event.inDoubt) this.#settled(view, event);
    }
  }

  /** What is settled must be on the bill, to the token. */
  #settled(
    view: TreeView,
    {
      attempt,
      tokens,
      cost,
    }: { readonly attempt: AttemptId | null; readonly tokens: number; readonly cost: number },
  ): void {
    if (attempt === null || view.settledAttempts.has(attempt)) this.#violate(`${attempt} is settled twice`);
    view.settledAttempts.add(attempt ?? "");
    view.settledTokens += tokens;
    if (tokens === 0 && cost === 0) return;
    const entry = this.#books.bill.find(
      (each) =>
        attempt?.split(".", 1)[0] === each.attempt &&
        each.tokens === tokens &&
        each.cost === cost &&
        !this.#matched.has(each),
    );
    if (entry) this.#matched.add(entry);
    else this.#violate(`${attempt} is settled at ${tokens} tokens, which nobody billed`);
  }

  #checkHeadcount({ slots, record, runs }: TreeView): void {
    const { maxAgents } = record.ledger.spawn;
    const count = Ledger.headcount({ slots });
    const records: ReadonlyMap<string, RunRecord> = runs;
    if (count > maxAgents) this.#violate(`${count} slots are held, of ${maxAgents}`);
    for (const [run, { parent }] of Object.entries(slots)) {
      if (!records.has(run)) this.#violate(`${run} has a slot and no record`);
      if (parent !== null && !slots[parent]) this.#violate(`${run} has lost its boss`);
    }
    if (record.status === "closed" && Object.keys(slots).length > 0) this.#violate("closed, with runs left");
  }

  /** Spend within the limits, and each account the sum of what lies below it. */
  #checkAccounts({ record, slots, runs, doubts, settledTokens }: TreeView): void {
    const { account } = record.ledger;
    this.#checkCap("the tree", account);
    const below = new Map<string, number>();
    let reserved = 0;
    for (const [run, known] of runs) {
      this.#checkCap(run, known.account);
      if (known.account.attempts.length === 0) continue;
      const open = known.account.attempts.reduce((sum, { ceiling }) => sum + ceiling.tokens, 0);
      reserved += open;
      for (const id of slots[run] ? Ledger.path(slots, run) : []) below.set(id, (below.get(id) ?? 0) + open);
    }
    if (account.reserved.tokens !== reserved)
      this.#violate(`the tree has reserved ${account.reserved.tokens} tokens, its runs ${reserved}`);
    for (const [run, known] of runs) {
      const sum = below.get(run) ?? 0;
      if (known.account.reserved.tokens !== sum)
        this.#violate(`${run} has reserved ${known.account.reserved.tokens} tokens, those below it ${sum}`);
    }
    const doubted = [...doubts.values()].reduce((sum, { ceiling }) => sum + ceiling.tokens, 0);
    if (account.inDoubt.tokens !== doubted)
      this.#violate(`the tree has ${account.inDoubt.tokens} tokens in doubt, its doubts ${doubted}`);
    if (account.settled.tokens !== settledTokens)
      this.#violate(`the tree has settled ${account.settled.tokens} tokens, and told of ${settledTokens}`);
  }

  #checkCap(whose: string, account: Account): void {
    const { tokens, cost } = Ledger.spend(account);
    const { maxTokens, maxCost } = account;
    if (tokens > (maxTokens ?? Infinity))
      this.#violate(`${whose} has spent ${tokens} tokens of ${maxTokens}`);
    if (cost > (maxCost ?? Infinity)) this.#violate(`${whose} has spent ${cost} micro-dollars of ${maxCost}`);
  }

  /** What the provider bills is reserved, in doubt or settled, and within the limit: at every instant. */
  #checkBill({ record }: TreeView): void {
    const { account } = record.ledger;
    const spend = Ledger.spend(account);
    const { tokens, cost } = this.#books.billed(record.treeId);
    if (tokens > spend.tokens || cost > spend.cost)
      this.#violate(`billed ${tokens} tokens and ${cost}, booked ${spend.tokens} and ${spend.cost}`);
    if (tokens > (account.maxTokens ?? Infinity) || cost > (account.maxCost ?? Infinity))
      this.#violate(`billed ${tokens} tokens of ${account.maxTokens}, ${cost} of ${account.maxCost}`);
  }
}

const splitKey = (name: string): readonly string[] => {
  const index = name.indexOf("/");
  return index === -1 ? [name] : [name.slice(0, index), name.slice(index + 1)];
};
