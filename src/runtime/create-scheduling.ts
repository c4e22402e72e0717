import { randomUUID } from "node:crypto";
import type { Clock, Engine, InputLimits, Store } from "#kernel";
import { Schedules } from "./schedules.ts";
import { TickSink, type TickSinkDeps } from "./tick-sink.ts";

/** The parts of a runtime that schedules need. */
interface SchedulingDeps extends Pick<TickSinkDeps, "agentOf" | "start"> {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly store?: Store;
  readonly input?: InputLimits;
}

/** Creates the schedules of a runtime, and the sink that starts their trees. */
export function createScheduling({ engine, clock, store, input, agentOf, start }: SchedulingDeps): {
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
    }),
    sink: new TickSink({ engine, agentOf, start, now, apiKeys: store?.apiKeys ?? null }),
  };
}
