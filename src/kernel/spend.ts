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
  /** The part of `inputTokens` that was read from the provider's cache. */
  readonly cachedTokens: number;
  /** Money of calls whose usage is known. */
  readonly settledMicros: Micros;
  /** Additional ceilings of calls whose outcome is unknown. */
  readonly inDoubtMicros: Micros;
  /** Runs that began. Counted under the model `""`, like the next two, because they belong to no model. */
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

/** A model call that is not settled, or whose tokens are not reported yet. */
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

/** The roll-up of a tree: absolute figures, computed only from its events up to `seq`. */
export interface TreeSpend {
  readonly userId: UserId | null;
  readonly seq: number;
  /** The events up to this number are in rows without a tree. The rows below count from there on. */
  readonly rolledSeq: number;
  readonly rows: readonly SpendRow[];
  readonly calls: readonly SpendCall[];
}

const dimensions = ["day", "hour", "agent", "model", "user", "tree"] as const;

/** A dimension that sums can be grouped by. */
export type SpendDimension = (typeof dimensions)[number];

/** The sums to read. Absent filters: any. */
export interface SpendQuery {
  /** The first hour. `to` is the hour after the last. */
  readonly from: number;
  readonly to: number;
  readonly by: readonly SpendDimension[];
  readonly agentType?: string;
  readonly model?: string;
  readonly userId?: UserId | null;
  /** With `user`: the number of most expensive users that keep groups. Groups of all others lack `user`. Absent: all. */
  readonly topUsers?: number;
  /** Maximum number of groups. */
  readonly limit: number;
}

/** The figures of one group. Only the requested dimensions are present. */
export interface SpendSum extends SpendFigures {
  /** Days since 1970, of UTC. */
  readonly day?: number;
  readonly hour?: number;
  readonly agent?: string;
  readonly model?: string;
  /** Null: no user. Absent although requested: all users behind `topUsers`. */
  readonly user?: UserId | null;
  /** Null: trees that were merged. */
  readonly tree?: TreeId | null;
}

/** A model call whose outcome is not known. */
export interface CallInDoubt extends Omit<SpendCall, "state"> {
  readonly treeId: TreeId;
  readonly userId: UserId | null;
}

/** The store of spend roll-ups. It holds no content. */
export interface SpendStore {
  /** Returns the roll-up of a tree. Null: none. */
  tree(partition: Partition, tree: TreeId): Promise<TreeSpend | null>;
  /**
   * Replaces the roll-up of a tree, all or nothing, if it covers more events and starts from the same `rolledSeq`.
   * Otherwise nothing changes, so a repeated or late write counts nothing twice.
   */
  put(partition: Partition, tree: TreeId, spend: TreeSpend): Promise<void>;
  /** Returns groups, highest cost first. */
  sum(partition: Partition, query: SpendQuery): Promise<readonly SpendSum[]>;
  /** Returns calls in doubt, newest first. */
  inDoubt(
    partition: Partition,
    filter: { readonly userId?: UserId },
    page: PageRequest,
  ): Promise<Page<CallInDoubt>>;
  /**
   * Merges trees into rows by day without a tree. Only trees without spend since an hour, and without open or doubtful
   * calls, are merged. Sums stay the same. Returns the number of merged trees, at most 1,000.
   */
  compact(partition: Partition, before: number): Promise<number>;
}

const hourMs = 3_600_000;

const figureNames = [
  "calls",
  "inputTokens",
  "outputTokens",
  "cachedTokens",
  "settledMicros",
  "inDoubtMicros",
  "runs",
  "stopped",
  "denied",
] as const satisfies readonly (keyof SpendFigures)[];

function hasFigures(row: SpendRow): boolean {
  for (const name of figureNames) if (row[name] !== 0) return true;
  return false;
}

const keyOf = ({ hour, agentType, model }: SpendRow): string => JSON.stringify([hour, agentType, model]);

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
  figureNames,
  /** Maximum number of trees that one call merges. */
  maxCompacted: 1_000,
  hourOf: (at: number): number => Math.floor(at / hourMs),
  /** Returns the first millisecond of an hour. */
  startOf: (hour: number): number => hour * hourMs,
  /** Returns the first hour of a day. */
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
  /** Returns `b` minus `a`, figure by figure. */
  difference: (b: SpendFigures, a: SpendFigures): SpendFigures => ({
    calls: b.calls - a.calls,
    inputTokens: b.inputTokens - a.inputTokens,
    outputTokens: b.outputTokens - a.outputTokens,
    cachedTokens: b.cachedTokens - a.cachedTokens,
    settledMicros: b.settledMicros - a.settledMicros,
    inDoubtMicros: b.inDoubtMicros - a.inDoubtMicros,
    runs: b.runs - a.runs,
    stopped: b.stopped - a.stopped,
    denied: b.denied - a.denied,
  }),
  /** Returns the differences that turn the figures `before` into `after`. Rows that `after` leaves out stay. */
  changes: (before: readonly SpendRow[], after: readonly SpendRow[]): readonly SpendRow[] => {
    const known = new Map(before.map((row) => [keyOf(row), row]));
    const changed: SpendRow[] = [];
    for (const row of after) {
      const was = known.size === 0 ? undefined : known.get(keyOf(row));
      const change = was ? { ...row, ...Spend.difference(row, was) } : row;
      if (hasFigures(change)) changed.push(change);
    }
    return changed;
  },
  /** Returns the last hour with figures. 0: none. */
  lastHour: ({ rows }: Pick<TreeSpend, "rows">): number => Math.max(0, ...rows.map(({ hour }) => hour)),
} as const;
