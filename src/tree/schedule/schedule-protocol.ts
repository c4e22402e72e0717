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

/** Options of the trees that a schedule starts, as in `start`. */
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
  /** Whether a tick starts a tree while an earlier tick's tree is alive. */
  readonly overlap: "start" | "skip";
  /** The API key that set it. While that key is revoked or expired, ticks start nothing. Null: none. */
  readonly key: string | null;
}

/** The outcome of one tick. */
export interface TickResult {
  /** Its due time, in milliseconds since 1970. */
  readonly tick: number;
  /** The time of the decision. */
  readonly at: number;
  readonly outcome: "started" | "skipped" | "failed";
  /** The tree that it started, or the live tree of the previous tick. */
  readonly treeId: TreeId | null;
  /** The code of the error. Null: no error. */
  readonly error: string | null;
}

/** The state of a schedule. */
export interface ScheduleState {
  /** Rises with every change of its times. Timers of earlier generations do nothing. */
  readonly generation: number;
  /** Makes the ids of its trees unguessable, so that no caller can take them. */
  readonly nonce: string;
  /** All ticks up to this moment are decided. */
  readonly after: number;
  /** The next tick. Null: none. */
  readonly next: number | null;
  readonly paused: boolean;
  readonly setAt: number;
  readonly last: TickResult | null;
  /** The tree that was started last. Null: none. */
  readonly lastTree: TreeId | null;
}

/** A schedule and its state. */
export interface ScheduleReply {
  readonly spec: ScheduleSpec;
  readonly state: ScheduleState;
}

/** Maximum numbers of schedules. */
export interface ScheduleLimits {
  /** For one user. */
  readonly maxPerUser: number;
  /** For a tenant, including the schedules of its users. */
  readonly maxPerTenant: number;
}

/** The argument that sets a schedule. */
export interface SetScheduleArgument {
  readonly spec: ScheduleSpec;
  /** Used only if the schedule is new. */
  readonly nonce: string;
  /** Checked only if the schedule is new. */
  readonly limits: ScheduleLimits;
}

/** The reply if a schedule was not set, because its owner has the maximum number. */
export interface ScheduleRefusal {
  /** The owner whose limit forbids it. */
  readonly full: "user" | "tenant";
}

/** A tick that starts a tree: an order of a schedule to the sink of a worker. */
export interface TickOrder {
  readonly tick: number;
  readonly generation: number;
  /** Nonce of the schedule: another one of the same id may follow a removed one. Absent: an earlier build has sent it. */
  readonly nonce?: string | undefined;
}

/** Whether a timer or an order belongs to a schedule as it is now set. */
export const isOfSchedule = (
  { state }: ScheduleReply,
  { generation, nonce = state.nonce }: Pick<TickOrder, "generation" | "nonce">,
): boolean => generation === state.generation && nonce === state.nonce;

/** The type of the sink that starts the trees of ticks. */
export const tickSinkType = "tick";

/** Returns the address of a schedule. Users of one tenant may use the same id. */
export function scheduleAddress(id: string, owner: ScheduleOwner): ObjectAddress {
  return { type: "schedule", key: Partition.part(Partition.of(owner.tenant), scheduleName(id, owner.user)) };
}

/** The tenant and the user of a schedule. */
export interface ScheduleOwner {
  readonly tenant?: string | undefined;
  readonly user?: string | null | undefined;
}

/** Returns the name of a schedule within its tenant. JSON keeps the parts unambiguous for any characters. */
export const scheduleName = (id: string, user: string | null = null): string => JSON.stringify([user, id]);

/** Returns the address of the list of a tenant's schedules. */
export const scheduleListAddress = (partition: Partition): ObjectAddress => ({
  type: "schedules",
  key: Partition.key(partition),
});
