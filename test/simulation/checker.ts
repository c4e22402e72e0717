import { Json, type AttemptId, type NumberedEvent, RunId } from "#kernel";
import { Ledger, type Account, type Doubt, type Slot } from "#ledger";
import type { BeginArgument, ReplyOf, RunReply } from "../../src/tree/protocol.ts";
import type { RunRecord, TreeRecord } from "../../src/tree/state/records.ts";
import { decodeRun, decodeSlot } from "../../src/tree/state/stored-run.ts";
import type { BillEntry, Books } from "./books.ts";
import { findListProblem } from "./live-list.ts";
import { findTenantFault } from "./tenant-fault.ts";
import type { Transition } from "./watched.ts";

/** The checker's view of one tree. */
interface TreeView {
  record: TreeRecord;
  readonly slots: Record<RunId, Slot>;
  readonly runs: Map<RunId, RunRecord>;
  readonly doubts: Map<string, Doubt>;
  readonly events: NumberedEvent[];
  readonly eventIds: Set<string>;
  readonly ended: Set<string>;
  /** When each run was cancelled. */
  readonly cancelledAt: Map<string, number>;
  /** Tokens settled according to the books. */
  settledTokens: number;
  readonly settledAttempts: Set<string>;
  /** The newest execution of each run that has asked at the gate. */
  readonly newest: Map<string, number>;
}

/** Milliseconds within which a cancelled run must have ended, if nothing crashes. */
const longestCancelMs = 5_000;
/** Within this after its deadline a run is cancelled, by itself or by its tree. */
const longestDelayMs = 2_000;

/** Compares the engine's state, at every transition, with itself and with the independent books. */
export class Checker {
  readonly trees = new Map<string, TreeView>();
  readonly #books: Books;
  readonly #now: () => number;
  readonly #tenantTokens: number | null;
  readonly #violate: (text: string) => void;
  readonly #onEvent: (event: NumberedEvent) => void;
  readonly #journaled = new Set<string>();
  readonly #matched = new Set<BillEntry>();
  /** Additional milliseconds for a cancel, because of crashes. */
  allowanceMs = 0;

  constructor(
    books: Books,
    options: {
      readonly now: () => number;
      /** The limit of all trees together; null: none. */
      readonly tenantTokens: number | null;
      readonly violate: (text: string) => void;
      readonly onEvent: (event: NumberedEvent) => void;
    },
  ) {
    this.#books = books;
    this.#now = options.now;
    this.#tenantTokens = options.tenantTokens;
    this.#violate = options.violate;
    this.#onEvent = options.onEvent;
    books.onBegin = (begun) => this.#checkBegin(begun);
  }

  /** Every run that has not ended. */
  live(): readonly string[] {
    const live: string[] = [];
    for (const { runs } of this.trees.values()) live.push(...runs.keys());
    return live;
  }

  /** A step has its result. */
  noteJournaled(step: string, value: Json): void {
    const { kind } = Json.as<{ readonly kind?: string }>(value);
    if (kind !== "answered" && kind !== "done") return;
    if (this.#journaled.has(step)) this.#violate(`${step} was journaled twice`);
    this.#journaled.add(step);
  }

  /** Something out in the world begins. */
  #checkBegin({ tree, run, step }: Readonly<Record<"tree" | "run" | "step", string>>): void {
    const view = this.trees.get(tree);
    if (!view) return this.#violate(`a call in ${tree}, which does not exist`);
    if (this.#journaled.has(step)) this.#violate(`${step} begins again after it was journaled`);
    if (view.ended.has(run)) this.#violate(`${step} begins after its run has ended`);
    const { maxAgents } = view.record.ledger.spawn;
    const flying = this.#books.inFlight(tree);
    if (flying.size > maxAgents) this.#violate(`${[...flying].join(", ")} work at once, of ${maxAgents}`);
  }

  transition(transition: Transition): void {
    if (transition.type === "tenant") return this.#checkTenant(transition);
    if (transition.type !== "tree") return;
    const view = this.#viewOf(transition);
    if (!view) return;
    this.#checkGate(transition, view);
    this.#update(transition, view);
    this.#checkHeadcount(view);
    const unlisted = findListProblem(transition.state, view);
    if (unlisted !== null) this.#violate(unlisted);
    this.#checkAccounts(view);
    this.#checkBill(view);
  }

  #viewOf({ state }: Transition): TreeView | null {
    const record = treeIn(state);
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
        newest: new Map(),
      };
      this.trees.set(record.treeId, view);
    }
    return view;
  }

  /** Checks that nothing begins in a run that has ended, is cancelled, held, without a slot or overdue. */
  #checkGate({ method, argument, reply }: Transition, { slots, record, newest }: TreeView): void {
    if (method !== "begin") return;
    const { run, at, epoch } = Json.as<BeginArgument>(argument);
    const last = newest.get(run) ?? 0;
    newest.set(run, Math.max(last, epoch.order ?? 0));
    if (Json.as<RunReply<ReplyOf<"begin">>>(reply).reply.gate.kind !== "granted") return;
    if ((epoch.order ?? 0) < last) this.#violate(`${run} may begin something although it is superseded`);
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
    const was = { ...view.slots };
    view.record = treeIn(state) ?? view.record;
    if (view.record.clock < before.clock) this.#violate("the tree's time goes back");
    for (const [name, { before: known, after }] of written) {
      const [kind = "", id = ""] = splitKey(name);
      if (kind === "run") this.#updateRun(view, RunId.parse(id), after);
      if (kind === "slot") this.#updateSlot(view, RunId.parse(id), after);
      if (kind === "doubt") this.#updateDoubt(view, id, after);
      // An erased tree folds the records of ended runs into pages.
      if (kind !== "ended" || id.startsWith("page/") || after === null) continue;
      if (known !== null) this.#violate(`${id} has ended twice`);
      view.ended.add(id);
      this.#checkCancel(view, id);
      this.#checkDeadline(view, id, was[RunId.parse(id)]);
    }
    this.#noteCancels(view);
    this.#addEvents(state, view);
  }

  #updateRun(view: TreeView, id: RunId, after: Json): void {
    const run = decodeRun(id, after);
    if (run === null) view.runs.delete(id);
    else view.runs.set(id, run);
  }

  #updateSlot({ slots }: TreeView, id: RunId, after: Json): void {
    const slot = decodeSlot(id, after);
    if (slot === null) delete slots[id];
    else slots[id] = slot;
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

  #checkDeadline({ record }: TreeView, run: string, slot: Slot | undefined): void {
    // A deadline counts from when the tree gets its turn.
    if (!slot || slot.deadline === null || slot.cancelled !== null || record.waits) return;
    const late = record.clock - slot.deadline - this.allowanceMs;
    if (late > longestDelayMs + longestCancelMs) this.#violate(`${run} ended ${late} ms after its deadline`);
  }

  #addEvents(state: Transition["state"], view: TreeView): void {
    const { seq } = view.record;
    const known = view.events.length;
    if (seq < known) this.#violate(`${known} events, now ${seq}`);
    const value = (first: number): readonly NumberedEvent[] => Json.as(state.get(`event/${first}`) ?? []);
    for (let next = known + 1, at = known + 1; next <= seq; next++) {
      if (next >= at + value(at).length) at = next;
      const event = value(at)[next - at];
      if (event?.seq !== next) return this.#violate(`event ${next} is missing`);
      if (view.eventIds.has(event.eventId)) this.#violate(`event ${event.eventId} is told twice`);
      view.eventIds.add(event.eventId);
      view.events.push(event);
      this.#onEvent(event);
      if (event.type === "budget.settled" && !event.inDoubt) this.#checkSettled(view, event);
    }
  }

  /** Checks that settled amounts equal the bill, to the token. */
  #checkSettled(
    view: TreeView,
    {
      attempt,
      tokens,
      costMicros: cost,
    }: { readonly attempt: AttemptId | null; readonly tokens: number; readonly costMicros: number },
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
    else this.#violate(`${attempt} is settled at ${tokens} tokens, which no provider billed`);
  }

  #checkHeadcount({ slots, record, runs }: TreeView): void {
    const { maxAgents } = record.ledger.spawn;
    this.#checkAtWork(record.treeId, slots);
    const count = Object.values(slots).filter(Ledger.holds).length;
    const { live, holders } = record.ledger.headcount;
    if (holders !== count) this.#violate(`${count} slots are held, ${holders} are counted`);
    if (live !== Object.keys(slots).length)
      this.#violate(`${Object.keys(slots).length} runs live, ${live} are counted`);
    const records: ReadonlyMap<string, RunRecord> = runs;
    if (count > maxAgents) this.#violate(`${count} slots are held, of ${maxAgents}`);
    for (const [run, { parent, cancelled }] of Object.entries(slots)) {
      if (!records.has(run)) this.#violate(`${run} has a slot and no record`);
      if (parent === null) continue;
      const above = slots[parent];
      if (!above) this.#violate(`${run} has lost its root`);
      else if (above.cancelled !== null && cancelled === null)
        this.#violate(`${run} is not cancelled although its parent is`);
    }
    if (record.status === "closed" && Object.keys(slots).length > 0) this.#violate("closed, with runs left");
  }

  /** Checks that a run with a call in flight holds a slot until it has yielded. */
  #checkAtWork(tree: string, slots: TreeView["slots"]): void {
    const known: Readonly<Record<string, Slot>> = slots;
    for (const run of this.#books.inFlight(tree)) {
      const phase = known[run]?.phase;
      if (phase === "parked" || phase === "pending")
        this.#violate(`${run} has a call in flight although it is ${phase}`);
    }
  }

  /** Checks that quota leases and spend are within the tenant's limit, and that every lease is counted. */
  #checkTenant({ state }: Transition): void {
    const fault = findTenantFault(state);
    if (fault !== null) this.#violate(fault);
  }

  /** Checks that spend is within the limits, and each account is the sum of those below it. */
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
      for (const id of Ledger.path({ get: (each) => slots[each] }, run))
        below.set(id, (below.get(id) ?? 0) + open);
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
    const { tokens, costMicros: cost } = Ledger.spend(account);
    const { maxTokens, maxCostMicros: maxCost } = account;
    if (tokens > (maxTokens ?? Infinity))
      this.#violate(`${whose} has spent ${tokens} tokens of ${maxTokens}`);
    if (cost > (maxCost ?? Infinity)) this.#violate(`${whose} has spent ${cost} micro-dollars of ${maxCost}`);
  }

  /** Checks that the provider's bill is reserved, in doubt or settled, and within the limit, at every moment. */
  #checkBill({ record }: TreeView): void {
    const { account } = record.ledger;
    const spend = Ledger.spend(account);
    const { tokens, cost } = this.#books.getBill(record.treeId);
    if (tokens > spend.tokens || cost > spend.costMicros)
      this.#violate(`billed ${tokens} tokens and ${cost}, booked ${spend.tokens} and ${spend.costMicros}`);
    const { billedTokens } = this.#books;
    if (billedTokens > (this.#tenantTokens ?? Infinity))
      this.#violate(`the tenant was billed ${billedTokens} of ${this.#tenantTokens}`);
    if (tokens > (account.maxTokens ?? Infinity) || cost > (account.maxCostMicros ?? Infinity))
      this.#violate(`billed ${tokens} tokens of ${account.maxTokens}, ${cost} of ${account.maxCostMicros}`);
  }
}

const splitKey = (name: string): readonly string[] => {
  const index = name.indexOf("/");
  return index === -1 ? [name] : [name.slice(0, index), name.slice(index + 1)];
};

/** A tree's record, put together from its two values. */
function treeIn(state: Transition["state"]): TreeRecord | null {
  const changing = state.get("tree");
  const info = state.get("info");
  return changing && info ? Json.as<TreeRecord>(Object.assign({}, info, changing)) : null;
}
