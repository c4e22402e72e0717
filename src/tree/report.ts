import {
  agentEventTypes,
  type AttemptId,
  type EventPayloads,
  type EventType,
  type RunResult,
  type Usage,
} from "#kernel";

/**
 * The event types that a run reports: those of its agent code, and those of its worker's actions. The tree writes all
 * others.
 */
const reportedEventTypes = [
  ...agentEventTypes,
  "model.end",
  "retry.start",
  "retry.end",
  "tool.start",
  "tool.end",
  "permission.denied",
  "guardrail.trip",
  "extension.error",
  "turn.saved",
  "session.settled",
  "compaction.start",
  "compaction.end",
] as const satisfies readonly EventType[];

/** The name of an event that a run reports. */
export type ReportedEventType = (typeof reportedEventTypes)[number];

const reported: ReadonlySet<string> = new Set(reportedEventTypes);

/** Whether a run may report events of a type. */
export const isReported = (type: string): boolean => reported.has(type);

/** One report of a run to its tree, numbered by the run. A replay reports the same numbers. */
export type Report = {
  readonly [Type in ReportedEventType]: {
    readonly number: number;
    readonly settle?: Settlement | undefined;
    readonly event?:
      | {
          readonly type: Type;
          readonly at: number;
          readonly attempt: AttemptId | null;
          readonly payload: EventPayloads[Type];
        }
      | undefined;
  };
}[ReportedEventType];

/** Returns the position of a report in the stream. Every journal of a run numbers its reports from 1. */
export const reportPlace = (type: ReportedEventType, continuation: number, number: number): string =>
  continuation === 0 ? `${type}/${number}` : `${type}@${continuation}/${number}`;

/** The outcome of an attempt, from its journaled result. */
export interface Settlement {
  readonly attempt: AttemptId;
  readonly usage: Usage | null;
  /** Whether another attempt of the same call follows. */
  readonly again?: boolean | undefined;
}

/** The result of a tree that nothing can change any more. */
export interface FinalResult {
  readonly result: RunResult;
  /**
   * The tree's time from which the content may not be returned, because it may be erased by then. Null: written by an
   * earlier release, for permanent content.
   */
  readonly until: number | null;
}
