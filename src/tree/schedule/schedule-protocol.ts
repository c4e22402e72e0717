import {
  Partition,
  type ExecutionBudget,
  type HistoryRetention,
  type Input,
  type Labels,
  type ObjectAddress,
  type PermissionRule,
  type Priority,
  type RequestMetadata,
  type SpawnBudget,
  type TreeId,
  type UserId,
} from "#kernel";
import type { CatchUp } from "./plan-ticks.ts";

/** Options of the trees that a schedule starts, as a start takes them. */
export interface ScheduledStart {
  readonly budget?: ExecutionBudget;
  readonly spawn?: Partial<SpawnBudget>;
  readonly deadlineS?: number;
  readonly priority?: Priority;
  readonly retention?: HistoryRetention;
  readonly permissions?: readonly PermissionRule[];
  readonly labels?: Partial<Labels>;
  readonly metadata?: RequestMetadata;
}

/** A schedule as it was set. */
export interface ScheduleSpec {
  readonly id: string;
  readonly user: UserId | null;
  readonly cron: string;
  readonly timeZone: string;
  /** The type of the agent. */
  readonly agent: string;
  readonly input: Input;
  readonly options: ScheduledStart;
  readonly catchUp: CatchUp;
  /** Whether a tick starts a tree while that of an earlier tick lives. */
  readonly overlap: "start" | "skip";
  /** The API key that set it: while that key is revoked or expired, ticks start nothing. Null: it depends on no key. */
  readonly key: string | null;
}

/** The end of one tick. */
export interface TickResult {
  /** The moment it was due. Milliseconds since 1970. */
  readonly tick: number;
  /** The moment it was decided. */
  readonly at: number;
  readonly outcome: "started" | "skipped" | "failed";
  /** The tree that it started, or that the tick before had started and that still lives. */
  readonly treeId: TreeId | null;
  /** The code of the error; null: it has not failed. */
  readonly error: string | null;
}

/** The state of a schedule. */
export interface ScheduleState {
  /** Rises with every change of its times: timers of earlier numbers do nothing. */
  readonly generation: number;
  /** Makes the ids of its trees such that no caller can guess and take them. */
  readonly nonce: string;
  /** All ticks up to here are decided. */
  readonly after: number;
  /** The tick that comes next; null: there is none. */
  readonly next: number | null;
  readonly paused: boolean;
  readonly setAt: number;
  readonly last: TickResult | null;
  /** The tree that was started last. */
  readonly lastTree: TreeId | null;
}

/** A schedule and its state. */
export interface ScheduleReply {
  readonly spec: ScheduleSpec;
  readonly state: ScheduleState;
}

/** Sets a schedule. */
export interface SetScheduleArgument {
  readonly spec: ScheduleSpec;
  /** Used if the schedule is new. */
  readonly nonce: string;
}

/** A tick that is to start a tree: an order of a schedule to the sink of its worker. */
export interface TickOrder {
  readonly tick: number;
  readonly generation: number;
}

/** The type of the sink that starts the trees of ticks. */
export const tickSinkType = "tick";

/** The address of a schedule: users of one tenant may give theirs the same id. */
export function scheduleAddress(id: string, owner: ScheduleOwner): ObjectAddress {
  return { type: "schedule", key: Partition.part(Partition.of(owner.tenant), scheduleName(id, owner.user)) };
}

/** The tenant and the user of a schedule. */
export interface ScheduleOwner {
  readonly tenant?: string | undefined;
  readonly user?: string | null | undefined;
}

/** The name of a schedule within its tenant. JSON keeps the parts apart, whatever characters they have. */
export const scheduleName = (id: string, user: string | null = null): string => JSON.stringify([user, id]);

/** The address of the list of a tenant's schedules. */
export const scheduleListAddress = (partition: Partition): ObjectAddress => ({
  type: "schedules",
  key: Partition.key(partition),
});
