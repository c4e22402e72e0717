import type { AttemptId, Micros, Priority, RunId, SpawnBudget } from "#kernel";
import type { Account, Doubt, RunAccount } from "./account.ts";

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
  /** While waiting: the runs it waits for; null where something else can wake it, too. */
  readonly waitsOn: readonly RunId[] | null;
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
  /** The highest epoch of an execution seen at the gate. */
  readonly epoch: string;
}

/** What a tree may still draw from its tenant without asking. Null: the tenant has no limit. */
export interface Block {
  /** What was lent so far; null where the tenant does not limit that dimension. */
  readonly tokens: number | null;
  readonly cost: Micros | null;
}

/** What a whole tree has in common. */
export interface TreeState {
  readonly root: RunId;
  readonly spawn: SpawnBudget;
  readonly account: Account;
  readonly block: Block | null;
  /** How long a run stands in line before it moves forward by one level. */
  readonly ageingMs: number;
  readonly nextOrder: number;
}

/**
 * The state of one tree's money and headcount: plain data. `accounts` needs to hold the path of the run a command
 * is about, `doubts` the attempt it reconciles, nothing more: a host may load the rest never.
 */
export interface LedgerState {
  readonly tree: TreeState;
  readonly slots: Readonly<Record<RunId, Slot>>;
  readonly accounts: Readonly<Record<RunId, RunAccount>>;
  readonly doubts: Readonly<Record<AttemptId, Doubt>>;
}
