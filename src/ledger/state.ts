import type { AttemptId, Priority, RunId, SpawnBudget } from "#kernel";
import type { Account, Doubt, RunAccount, WaitingCall } from "./money/account.ts";
import type { Amounts } from "./money/amounts.ts";
import type { Fence } from "./slots/fence.ts";
import type { Lease } from "./money/tenant.ts";

/**
 * The slot state of a live run. `running`, `waiting` and `yielding` hold a slot; `pending` (not begun) and `parked`
 * (begun, without a slot) do not.
 */
export type Phase = "pending" | "running" | "waiting" | "yielding" | "parked";

/** One live run in the headcount. */
export interface Slot {
  /** Null at the root. */
  readonly parent: RunId | null;
  readonly priority: Priority;
  /** Its number in spawn order. */
  readonly order: number;
  readonly phase: Phase;
  /** Whether a person or a policy holds it. Only `resume` lifts it. A held root keeps its slot. */
  readonly held: boolean;
  /** Start of its wait for a slot. Meaningless while it holds one. */
  readonly since: number;
  /** While waiting or parked: whether only runs can wake it. The `waits` of the state name them. */
  readonly waitsForRuns: boolean;
  /** While yielding to a preempting run: that run. */
  readonly taker: RunId | null;
  /** While queued and preempting: the run whose slot it will get. */
  readonly victim: RunId | null;
  /** Whether it was just demoted. It is skipped until another slot frees or it is raised. */
  readonly skipped: boolean;
  /** Whether it was parked while it waited. It is queued only once it has woken. */
  readonly asleep: boolean;
  /** While waiting: whether a person must decide something for it, or a call of it waits for money. */
  readonly isBlocked: boolean;
  readonly detached: boolean;
  /** Maximum duration, counted from its launch. Null: unlimited, or already launched. */
  readonly allowedMs: number | null;
  /** No call begins after this moment. The minimum along the path. */
  readonly deadline: number | null;
  /** The reason of its cancel. Null: not cancelled. */
  readonly cancelled: string | null;
  /** The execution of the run that may begin calls. */
  readonly fence: Fence;
  /** Number of live children. */
  readonly children: number;
  /** Number of live children that stand still. */
  readonly idleChildren: number;
  /** Start of its standstill, in working time. Null: it, or a run below it, can make progress. */
  readonly idleSince: number | null;
  /** Length of its earlier standstills. */
  readonly idleMs: number;
  /** Whether asks that are late wait for the end of its standstill. */
  readonly hasLateAsks: boolean;
  /** Its page of the queue. Null: none. */
  readonly page: number | null;
}

/** An entry of a queue, as stored in a page: a run that can use a slot, or a call that waits for money. */
export interface Queued extends Pick<Slot, "since" | "order" | "deadline"> {
  readonly run: RunId;
  /** Absent in the queue for slots. */
  readonly call?: QueuedCall | undefined;
}

/** A model call that waits for money. The account of its run holds the other fields. */
export interface QueuedCall extends Pick<WaitingCall, "step" | "needsTopUp"> {
  /** The run whose limit blocks it. Null: the tree's, the tenant's or the user's. */
  readonly owner: RunId | null;
}

/** The pages of one priority's queue: from `first` to `last`. Some between them may be empty. */
export interface PageRange {
  readonly first: number;
  readonly last: number;
}

/** A line: its queues by priority. */
export type LineRanges = Readonly<Partial<Record<Priority, PageRange>>>;

/** Figures of all slots, updated with each change of a slot. So a decision reads only the slots that it is about. */
export interface Headcount {
  /** Runs that are alive. */
  readonly live: number;
  /** Runs that hold a slot. */
  readonly holders: number;
  /** Runs that hold a slot, or could continue by themselves, and do not only wait for other runs. */
  readonly active: number;
  /** Runs that are skipped. Few: those demoted since a slot was last freed. */
  readonly skipped: readonly RunId[];
  /** The queue by priority: runs that can use a slot, without skipped ones. */
  readonly line: LineRanges;
}

/** The model calls of a tree that wait for money. */
interface WaitingCalls {
  readonly line: LineRanges;
  /** No open reservation is due before this moment. Null: none was opened. */
  readonly due: number | null;
}

/** The lease of a tree: the part of its tenant's budgets that it may use without asking. */
export interface TreeLease extends Lease {
  /** Amounts of calls reserved under this lease, with those in flight at their ceilings. */
  readonly used: Amounts;
}

/** The state shared by a whole tree. */
export interface TreeState {
  readonly root: RunId;
  readonly spawn: SpawnBudget;
  readonly account: Account;
  /** Null: it has no tenant. */
  readonly lease: TreeLease | null;
  /** Time in the queue after which a run moves up one level. */
  readonly ageingMs: number;
  readonly nextOrder: number;
  /** Time without any worker. Working time does not count it. Absent: none. */
  readonly absentMs?: number | undefined;
  readonly headcount: Headcount;
  readonly calls: WaitingCalls;
  /** The most input tokens that a provider has reported beyond a bound, by model. Absent: none. */
  readonly hiddenTokens?: Readonly<Record<string, number>> | undefined;
}

/** Names rows of the ledger. */
export interface RowNames {
  readonly slots?: readonly RunId[];
  readonly waits?: readonly RunId[];
  readonly pages?: readonly string[];
  readonly accounts?: readonly RunId[];
}

/** A run that holds a slot. */
export interface Holder extends Pick<Slot, "priority" | "order"> {
  readonly run: RunId;
}

/** A reader of rows that a state does not hold, for a host that stores rows separately and loads them on demand. */
export interface LedgerSource {
  slot(run: RunId): Slot | undefined;
  waits(run: RunId): readonly RunId[] | undefined;
  account(run: RunId): RunAccount | undefined;
  page(name: string): readonly Queued[] | undefined;
  /** Returns every live run. */
  runs(): readonly RunId[];
  /** Returns the live children of `run`. */
  children(run: RunId): readonly RunId[];
  /** Returns the live runs that hold a slot. */
  holders(): readonly Holder[];
  /** Announces rows that will be read, so that a remote host loads them in one round trip. */
  prefetch(rows: RowNames): void;
}

/**
 * The money and headcount of one tree: plain data. `accounts` must hold the path of the command's run, and `doubts` the
 * attempt it reconciles; the host need not load more. `slots`, `waits` and `pages` hold every row, unless a `source`
 * reads the missing ones. The source also reads accounts of other runs whose calls wait.
 */
export interface LedgerState {
  readonly tree: TreeState;
  readonly slots: Readonly<Record<RunId, Slot>>;
  /** The runs that a run waits for. Rows of runs that no longer wait are stale. */
  readonly waits: Readonly<Record<RunId, readonly RunId[]>>;
  /** The queues, by name, priority and number of the page. A page without entries is absent. */
  readonly pages: Readonly<Record<string, readonly Queued[]>>;
  readonly accounts: Readonly<Record<RunId, RunAccount>>;
  readonly doubts: Readonly<Record<AttemptId, Doubt>>;
  readonly source?: LedgerSource;
}
