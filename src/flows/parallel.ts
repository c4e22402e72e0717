import { Json, type ChildHandle, type StrategyDeps } from "#kernel";
import { endsFlow, flowOf, performStep, type AnyStep, type Flow, type FlowStep } from "./flow.ts";

/** The answers of some steps, in their order. */
type Answers<Steps extends readonly AnyStep[]> = {
  [Index in keyof Steps]: Steps[Index] extends FlowStep<never, infer Out> ? Out : Json;
};

/** Options that set how answers are merged and how failures are handled. */
export interface ParallelOptions<All, Out> {
  /** Merges the answers, in the order of the steps. With `collect`, failed ones are missing. Default: the list. */
  readonly merge?: ((answers: All) => Out) | undefined;
  /**
   * On a failed step: `fail` cancels the other steps and the flow fails; `collect` continues with the others. Default:
   * `fail`.
   */
  readonly onError?: "fail" | "collect" | undefined;
}

/** All steps at once, with the same input. */
export function parallel<
  In = Json,
  const Steps extends readonly AnyStep[] = readonly AnyStep[],
  Out = Answers<Steps>,
>(steps: Steps, { merge, onError = "fail" }: ParallelOptions<Answers<Steps>, Out> = {}): Flow<In, Out> {
  return flowOf("parallel", steps, async (input, deps) => {
    const jobs = steps.map((step) => ({ step, input }));
    const answers = await performAll(jobs, deps, onError);
    return join(answers, merge);
  });
}

/** The items of a list, and the way in which their answers are joined. */
export interface MapOptions<In, Item, Out, Joined> extends ParallelOptions<readonly Out[], Joined> {
  readonly split: (input: In) => readonly Item[];
}

/** The same step for every item of a list, all at once. */
export function map<In = Json, Item = Json, Out = Json, Joined = readonly Out[]>(
  step: FlowStep<Item, Out>,
  { split, merge, onError = "fail" }: MapOptions<In, Item, Out, Joined>,
): Flow<In, Joined> {
  return flowOf("map", [step], async (input, deps) => {
    const jobs = split(Json.as<In>(input)).map((item) => ({ step, input: Json.of(item) }));
    return join(await performAll(jobs, deps, onError), merge);
  });
}

// oxlint-disable-next-line typescript/no-explicit-any -- the types of the answers are those of the steps
const join = (answers: readonly Json[], merge: ((all: any) => any) | undefined): Json =>
  merge ? merge(answers) : [...answers];

/** Runs all steps in parallel. A failure cancels the workers of the other steps, or leaves its answer out. */
async function performAll(
  jobs: readonly { readonly step: AnyStep; readonly input: Json }[],
  deps: StrategyDeps,
  onError: "fail" | "collect",
): Promise<readonly Json[]> {
  const live = new Set<ChildHandle>();
  let hasFailed = false;
  const cancelOthers = async (): Promise<void> => {
    if (onError === "collect" || hasFailed) return;
    hasFailed = true;
    await Promise.all(
      [...live].map((worker) => deps.ctx.cancel(worker, "another step of the flow has failed")),
    );
  };
  const made = await Promise.allSettled(
    jobs.map(async ({ step, input }) => {
      try {
        return await performStep(step, input, trackWorkers(deps, live));
      } catch (error) {
        if (!endsFlow(error)) await cancelOthers();
        throw error;
      }
    }),
  );
  const failures = made.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  const end = failures.find(endsFlow);
  if (end) throw end;
  if (failures.length > 0 && (onError === "fail" || failures.length === jobs.length)) throw failures[0];
  return made.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
}

/** Returns the same means, which keep the workers that are at work in a set. */
function trackWorkers(deps: StrategyDeps, live: Set<ChildHandle>): StrategyDeps {
  const delegate: StrategyDeps["delegate"] = async (worker, task, options = {}) => {
    let spawned: ChildHandle | null = null;
    const onSpawn = (run: ChildHandle): void => {
      spawned = run;
      live.add(run);
      options.onSpawn?.(run);
    };
    try {
      return await deps.delegate(worker, task, { ...options, onSpawn });
    } finally {
      if (spawned) live.delete(spawned);
    }
  };
  return {
    ...deps,
    delegate,
    inline: (architecture, prompt, options) => deps.inline(architecture, prompt, { delegate, ...options }),
  };
}
