import type { AttemptId, RunId, StepId, TreeId, UserId } from "./ids.ts";
import type { Micros } from "./money.ts";
import type { Page, PageRequest } from "./page.ts";
import type { Partition } from "./partition.ts";

/** Sums of calls and runs. */
export interface SpendFigures {
  /** Model calls that began. */
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The part of `inputTokens` that came from the provider's cache. */
  readonly cachedTokens: number;
  /** Money of calls whose usage is known. */
  readonly settledMicros: Micros;
  /** The ceilings of calls whose outcome is not known, on top of it. */
  readonly inDoubtMicros: Micros;
  /** Runs that began. Counted under the model `""`, like the two below: they belong to no model. */
  readonly runs: number;
  /** Runs that a limit or a deadline ended. */
  readonly stopped: number;
  /** Model calls that a limit refused. */
  readonly denied: number;
}

/** The figures of one hour, agent and model. A call belongs to the hour in which it was reserved. */
export interface SpendRow extends SpendFigures {
  /** Hours since 1970. */
  readonly hour: number;
  readonly agentType: string;
  /** At most 200 characters; `""`: figures of runs. */
  readonly model: string;
}

/** A model call that is not settled, or whose tokens are not told yet. */
export interface SpendCall {
  readonly attempt: AttemptId;
  readonly runId: RunId;
  /** Null until the event that begins the call is read. */
  readonly stepId: StepId | null;
  readonly agentType: string;
  readonly model: string;
  /** When it was reserved. */
  readonly at: number;
  /** The amounts that were reserved. */
  readonly tokens: number;
  readonly costMicros: Micros;
  /** Settled calls are kept until the event with their tokens, or until their run ends. */
  readonly state: "open" | "in-doubt" | "settled";
}

/** The roll-up of a tree: absolute figures, which follow from its events up to `seq` alone. */
export interface TreeSpend {
  readonly userId: UserId | null;
  readonly seq: number;
  /** The events up to here are in rows without a tree; the rows below count from there on. */
  readonly rolledSeq: number;
  readonly rows: readonly SpendRow[];
  readonly calls: readonly SpendCall[];
}

const dimensions = ["day", "hour", "agent", "model", "user", "tree"] as const;

/** A dimension that sums can be grouped by. */
export type SpendDimension = (typeof dimensions)[number];

/** The sums to read. Absent filters: any. */
export interface SpendQuery {
  /** The first hour, and the one after the last. */
  readonly from: number;
  readonly to: number;
  readonly by: readonly SpendDimension[];
  readonly agentType?: string;
  readonly model?: string;
  readonly userId?: UserId | null;
  /** The most groups. */
  readonly limit: number;
}

/** The figures of one group. Its fields are those that were asked for; the others are absent. */
export interface SpendSum extends SpendFigures {
  /** Days since 1970, of UTC. */
  readonly day?: number;
  readonly hour?: number;
  readonly agent?: string;
  readonly model?: string;
  /** Null: no user. */
  readonly user?: UserId | null;
  /** Null: trees that were added up. */
  readonly tree?: TreeId | null;
}

/** A model call whose outcome is not known. */
export interface CallInDoubt extends Omit<SpendCall, "state"> {
  readonly treeId: TreeId;
  readonly userId: UserId | null;
}

/** The roll-up of money. Nothing here is content. */
export interface SpendStore {
  /** The roll-up of a tree; null: none. */
  tree(partition: Partition, tree: TreeId): Promise<TreeSpend | null>;
  /**
   * Replaces the roll-up of a tree, all or nothing, if it takes more events into account and starts from the same `rolledSeq`.
   * Otherwise nothing changes, so the same again, or an older one late, counts nothing twice.
   */
  put(partition: Partition, tree: TreeId, spend: TreeSpend): Promise<void>;
  /** The groups with the most money first. */
  sum(partition: Partition, query: SpendQuery): Promise<readonly SpendSum[]>;
  /** Newest first. */
  inDoubt(
    partition: Partition,
    filter: { readonly userId?: UserId },
    page: PageRequest,
  ): Promise<Page<CallInDoubt>>;
  /**
   * Adds trees that spent nothing since an hour, and have no call open or in doubt, to rows by day without a tree. Sums stay the
   * same. Returns the number of trees, at most 1,000.
   */
  compact(partition: Partition, before: number): Promise<number>;
}

const hourMs = 3_600_000;

/** Hours, figures and keys of the roll-up. */
export const Spend = {
  none: Object.freeze({
    calls: 0,
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    settledMicros: 0,
    inDoubtMicros: 0,
    runs: 0,
    stopped: 0,
    denied: 0,
  }) satisfies SpendFigures,
  dimensions,
  /** The most trees that are added up at once. */
  maxCompacted: 1_000,
  hourOf: (at: number): number => Math.floor(at / hourMs),
  /** The first millisecond of an hour. */
  startOf: (hour: number): number => hour * hourMs,
  /** The first hour of a day. */
  dayStart: (hour: number): number => hour - (hour % 24),
  add: (a: SpendFigures, b: SpendFigures): SpendFigures => ({
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    settledMicros: a.settledMicros + b.settledMicros,
    inDoubtMicros: a.inDoubtMicros + b.inDoubtMicros,
    runs: a.runs + b.runs,
    stopped: a.stopped + b.stopped,
    denied: a.denied + b.denied,
  }),
  /** The last hour that has figures; 0: none has. */
  lastHour: ({ rows }: Pick<TreeSpend, "rows">): number => Math.max(0, ...rows.map(({ hour }) => hour)),
} as const;
