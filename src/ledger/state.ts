import type { AttemptId, Priority, RunId, SpawnBudget } from "#kernel";
import type { Account, Doubt, RunAccount, WaitingCall } from "./money/account.ts";
import type { Amounts } from "./money/amounts.ts";
import type { Fence } from "./slots/fence.ts";
import type { Lease } from "./money/tenant.ts";

/**
 * Where a live run stands. `running`, `waiting` and `yielding` hold a slot; `pending` (not begun) and `parked`
 * (begun, without a slot) do not.
 */
export type Phase = "pending" | "running" | "waiting" | "yielding" | "parked";

/** One live run in the headcount. */
export interface Slot {
  /** Null at the root. */
  readonly parent: RunId | null;
  readonly priority: Priority;
  /** When it was hired, as a number that only grows. */
  readonly order: number;
  readonly phase: Phase;
  /** Held by a person or a policy: only `resume` lifts it. A held root keeps its slot. */
  readonly held: boolean;
  /** Since when it has been in line for a slot; meaningless while it holds one. */
  readonly since: number;
  /** While waiting or parked: whether only runs can wake it. They are in the `waits` of the state. */
  readonly waitsForRuns: boolean;
  /** While yielding to a run that preempts: that run. */
  readonly taker: RunId | null;
  /** While in line and preempting: the run whose slot will come. */
  readonly victim: RunId | null;
  /** Just demoted: passed over until another slot frees or it is raised. */
  readonly skipped: boolean;
  /** Parked while it waited: it stands in line only once it has woken. */
  readonly asleep: boolean;
  readonly detached: boolean;
  /** How long it may take, counted from its launch; null for as long as it likes, or launched already. */
  readonly allowedMs: number | null;
  /** No call begins after this moment; the minimum along the path. */
  readonly deadline: number | null;
  /** Why it was cancelled; null if it was not. */
  readonly cancelled: string | null;
  /** The execution of the run that may begin calls. */
  readonly fence: Fence;
  /** How many live runs have it as their parent. */
  readonly children: number;
  /** The page of the line in which it is; null: in none. */
  readonly page: number | null;
}

/** An entry of a line, as a page of the line names it: a run that can use a slot, or one of its calls that waits for money. */
export interface Queued extends Pick<Slot, "since" | "order" | "deadline"> {
  readonly run: RunId;
  /** Absent in the line for slots. */
  readonly call?: QueuedCall | undefined;
}

/** A model call that waits for money. The account of its run has the rest. */
export interface QueuedCall extends Pick<WaitingCall, "step" | "needsTopUp"> {
  /** The run whose limit is in its way; null: the tree's, the tenant's or the user's. */
  readonly owner: RunId | null;
}

/** The pages of the line that hold the runs of one priority: from `first` to `last`. Some between them may be empty. */
export interface PageRange {
  readonly first: number;
  readonly last: number;
}

/** A line: its queues by priority. */
export type LineRanges = Readonly<Partial<Record<Priority, PageRange>>>;

/**
 * Figures of all slots, kept up to date with each change of a slot. So a decision reads the slots that it is about, and
 * not all of them.
 */
export interface Headcount {
  /** Runs that are alive. */
  readonly live: number;
  /** Those of them that hold a slot. */
  readonly holders: number;
  /** Those that hold a slot, or would go on by themselves, and do not only wait for other runs. */
  readonly active: number;
  /** Runs that are passed over. Few: those that were demoted since a slot became free. */
  readonly skipped: readonly RunId[];
  /** The line by priority: runs that can use a slot, without those passed over. */
  readonly line: LineRanges;
}

/** The model calls of a tree that wait for money. */
interface WaitingCalls {
  readonly line: LineRanges;
  /** No open reservation is due before this moment; null: none was opened. */
  readonly due: number | null;
}

/** The lease of a tree: the part of its tenant's budgets that it may use without asking. */
export interface Block extends Lease {
  /** The use by calls that were reserved under this lease, those in flight at their ceilings. */
  readonly used: Amounts;
}

/** What a whole tree has in common. */
export interface TreeState {
  readonly root: RunId;
  readonly spawn: SpawnBudget;
  readonly account: Account;
  /** Null: it has no tenant. */
  readonly block: Block | null;
  /** How long a run stands in line before it moves forward by one level. */
  readonly ageingMs: number;
  readonly nextOrder: number;
  readonly headcount: Headcount;
  readonly calls: WaitingCalls;
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

/** Reads rows that a state does not hold, for a host that stores each row apart and loads it when it is needed. */
export interface LedgerSource {
  slot(run: RunId): Slot | undefined;
  waits(run: RunId): readonly RunId[] | undefined;
  account(run: RunId): RunAccount | undefined;
  page(name: string): readonly Queued[] | undefined;
  /** Every live run. */
  runs(): readonly RunId[];
  /** The live runs whose parent is `run`. */
  children(run: RunId): readonly RunId[];
  /** The live runs that hold a slot. */
  holders(): readonly Holder[];
  /** These will be read: a host that is far from them loads them in one round trip. */
  prefetch(rows: RowNames): void;
}

/**
 * The state of one tree's money and headcount: plain data. `accounts` needs to hold the path of the run a command
 * is about, `doubts` the attempt it reconciles, nothing more: a host may load the rest never. `slots`, `waits` and `pages`
 * hold every row, unless a `source` reads those that are not here. It reads the accounts of other runs, too: of those whose
 * calls wait.
 */
export interface LedgerState {
  readonly tree: TreeState;
  readonly slots: Readonly<Record<RunId, Slot>>;
  /** The runs that a run waits for. Rows of runs that go on are stale. */
  readonly waits: Readonly<Record<RunId, readonly RunId[]>>;
  /** The lines, by name, priority and number of the page. A page without entries is none. */
  readonly pages: Readonly<Record<string, readonly Queued[]>>;
  readonly accounts: Readonly<Record<RunId, RunAccount>>;
  readonly doubts: Readonly<Record<AttemptId, Doubt>>;
  readonly source?: LedgerSource;
}
