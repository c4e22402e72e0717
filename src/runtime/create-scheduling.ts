import { randomUUID } from "node:crypto";
import type { Clock, Engine, FailureLog, InputLimits, Store } from "#kernel";
import type { ScheduleLimits } from "#tree";
import { checkScheduleLimits, defaultScheduleLimits, Schedules } from "./schedules.ts";
import { TickSink, type TickSinkDeps } from "./tick-sink.ts";

/** The parts of a runtime that schedules need. */
interface SchedulingDeps extends Pick<TickSinkDeps, "agentOf" | "start"> {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly store?: Store;
  readonly input?: InputLimits;
  readonly log?: FailureLog;
  readonly schedules?: Partial<ScheduleLimits>;
}

/** Creates the schedules of a runtime, and the sink that starts their trees. */
export function createScheduling({
  engine,
  clock,
  store,
  input,
  log,
  schedules: limits,
  agentOf,
  start,
}: SchedulingDeps): {
  readonly schedules: Schedules;
  readonly sink: TickSink;
} {
  const now = (): number => clock.now();
  return {
    schedules: new Schedules({
      engine,
      agentOf,
      inputLimits: input,
      hasStore: store !== undefined,
      now,
      uuid: randomUUID,
      limits: checkScheduleLimits({ ...defaultScheduleLimits, ...limits }),
    }),
    sink: new TickSink({ engine, agentOf, start, now, apiKeys: store?.apiKeys ?? null, log }),
  };
}
