import {
  AgentId,
  BudgetExhaustedError,
  CancellationError,
  Json,
  StrategyError,
  type Architecture,
  type AgentSpec,
  type StrategyDeps,
  type StrategyState,
} from "#kernel";
import { valueText } from "#base";

/** An architecture composed of steps. `In` and `Out` are the types of its input and output. */
export interface Flow<In = Json, Out = Json> extends Architecture {
  /** For the compiler only: never present at run time. */
  readonly "~flow"?: { readonly input: In; readonly output: Out } | undefined;
}

/** A step of a flow: a worker, another flow, or code that awaits `deps` and its `ctx` only. */
export type FlowStep<In = Json, Out = Json> =
  | AgentSpec<Out>
  | Flow<In, Out>
  | ((input: In, deps: StrategyDeps) => Promise<Out> | Out);

/** A step of any type. */
// oxlint-disable-next-line typescript/no-explicit-any -- a list of steps of different types
export type AnyStep = FlowStep<any, any>;

type Body = (input: Json, deps: StrategyDeps, state: StrategyState) => Promise<Json>;

/** Creates a flow from a name, its steps and its order. Its start and end are events in the tree's stream. */
export function flowOf(name: string, steps: readonly AnyStep[], body: Body): Flow<never, never> {
  return {
    name,
    steps,
    declaredWorkers: () => Object.fromEntries(steps.flatMap(workersOf)),
    // oxlint-disable-next-line eslint/require-yield -- the steps of a flow are told by themselves
    async *run(state, deps, prompt) {
      deps.ctx.record("flow.start", { flow: name });
      state.output = await body(inputOf(state, prompt), deps, state);
      deps.ctx.record("flow.end", { flow: name });
    },
  };
}

/** The input of a flow inside another one is data; that of a whole turn is its text. */
const inputOf = ({ metadata }: StrategyState, prompt: string): Json => metadata["input"] ?? prompt;

const isFlow = (step: AnyStep): step is Architecture => typeof step === "object" && "declaredWorkers" in step;

function workersOf(step: AnyStep): readonly (readonly [string, AgentSpec<unknown>])[] {
  if (typeof step === "function") return [];
  return isFlow(step) ? Object.entries(step.declaredWorkers()) : [[AgentId.type(step.id), step]];
}

/** Performs a step. @throws StrategyError that names the worker if it gave no answer. */
export async function performStep(step: AnyStep, input: Json, deps: StrategyDeps): Promise<Json> {
  if (typeof step === "function") return Json.of(await step(input, deps));
  if (isFlow(step)) return deps.inline(step, valueText(input), { input });
  const made = await deps.delegate(step, valueText(input));
  if (made.ok) return Json.of(made.value);
  throw new StrategyError({ problem: `${AgentId.type(step.id)}: ${made.reason}` });
}

/** Whether an error ends the run of the flow, rather than one step of it. */
export const endsFlow = (error: unknown): boolean =>
  error instanceof CancellationError || error instanceof BudgetExhaustedError;
