import { Json, StrategyError, type StrategyDeps } from "#kernel";
import { flowOf, performStep, type AnyStep, type Flow, type FlowStep } from "./flow.ts";

/** Runs steps in order. Each receives the answer of the previous one. The first failure ends the flow. */
export function sequence<A, B>(one: FlowStep<A, B>): Flow<A, B>;
export function sequence<A, B, C>(one: FlowStep<A, B>, two: FlowStep<B, C>): Flow<A, C>;
export function sequence<A, B, C, D>(
  one: FlowStep<A, B>,
  two: FlowStep<B, C>,
  three: FlowStep<C, D>,
): Flow<A, D>;
export function sequence<A, B, C, D, E>(
  one: FlowStep<A, B>,
  two: FlowStep<B, C>,
  three: FlowStep<C, D>,
  four: FlowStep<D, E>,
): Flow<A, E>;
export function sequence<A, B, C, D, E, F>(
  one: FlowStep<A, B>,
  two: FlowStep<B, C>,
  three: FlowStep<C, D>,
  four: FlowStep<D, E>,
  five: FlowStep<E, F>,
): Flow<A, F>;
export function sequence(...steps: readonly AnyStep[]): Flow {
  return flowOf("sequence", steps, async (input, deps, state) => {
    let value = input;
    for (const step of steps) {
      value = await performStep(step, value, deps);
      state.output = value;
    }
    return value;
  });
}

/** Runs one of several steps, selected by code, by name. */
export function branch<In = Json, Out = Json>(
  choose: (input: In, deps: StrategyDeps) => Promise<string> | string,
  routes: Readonly<Record<string, FlowStep<In, Out>>>,
): Flow<In, Out> {
  return flowOf("branch", Object.values(routes), async (input, deps) => {
    const name = await choose(Json.as<In>(input), deps);
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
    if (!route) throw new StrategyError({ problem: `unknown branch ${name}` });
    return performStep(route, input, deps);
  });
}

/** When a loop ends. */
export interface LoopOptions<Value> {
  /** Whether a value is good enough. `round` counts from 1. */
  readonly until: (value: Value, round: number) => boolean;
  /** Rounds at most. Default 10. */
  readonly max?: number | undefined;
}

/** Repeats one step with its last answer. After the last round the run lands with that answer. */
export function loop<Value = Json>(
  step: FlowStep<Value, Value>,
  { until, max = 10 }: LoopOptions<Value>,
): Flow<Value, Value> {
  return flowOf("loop", [step], async (input, deps, state) => {
    let value = input;
    for (let round = 1; round <= max; round += 1) {
      value = await performStep(step, value, deps);
      state.output = value;
      if (until(Json.as<Value>(value), round)) return value;
    }
    state.interrupted = true;
    state.interruptionReason = `no result after ${max} rounds`;
    return value;
  });
}
