import { isJsonObject, type Architecture, type AgentSpec, type Json } from "#kernel";
import { createObjectSchema } from "#agents";
import { byName, describeWorkers, getAgentName } from "./roles.ts";

/** The workers of a plan. */
export interface PlanAndExecuteOptions {
  readonly workers: readonly AgentSpec<string>[];
  /** New plans after a step that failed. Default 2. */
  readonly replans?: number | undefined;
}

/** A step of a plan. It begins when the steps that it is after are done. */
type PlanStep = {
  readonly id: string;
  readonly task: string;
  readonly worker: string;
  readonly after: readonly string[];
};

/**
 * The leader's model writes a plan. Each step goes to a worker as soon as the steps it depends on are done. Then the
 * model writes a summary. If a step fails, the model makes a new plan and keeps finished steps.
 */
export function planAndExecute({ workers, replans = 2 }: PlanAndExecuteOptions): Architecture {
  const schema = planSchema(workers.map(getAgentName));
  return {
    name: "plan-and-execute",
    needsModel: true,
    declaredWorkers: () => byName(workers),
    async *run(state, { think, delegate }, prompt) {
      const done = new Map<string, string>();
      const describeDone = (ids: Iterable<string>): string =>
        [...ids].map((id) => `${id}: ${done.get(id)}`).join("\n");
      let failure: string | null = null;
      for (let plan = 0; plan <= replans; plan += 1) {
        const soFar = done.size === 0 ? "" : `\n\nDone, do not plan again:\n${describeDone(done.keys())}`;
        const failed = failure === null ? "" : `\n\nThe last plan failed: ${failure}`;
        const asked = `Make a plan for the task.\n\nTask: ${prompt}\n\nWorkers:\n${describeWorkers(workers)}${soFar}${failed}`;
        const { steps } = await think(asked, { schema });
        yield { plan: steps.map(({ id, worker, after }) => ({ id, worker, after: [...after] })) };
        failure = null;
        let open = steps.filter(({ id }) => !done.has(id));
        while (open.length > 0 && failure === null) {
          const ready = open.filter(({ after }) => after.every((id) => done.has(id)));
          if (ready.length === 0) failure = "steps wait for each other, or for an unknown step";
          const made = await Promise.all(
            ready.map(async ({ id, task, worker, after }) => {
              const results = after.length === 0 ? "" : `\n\nResults so far:\n${describeDone(after)}`;
              return { id, delivery: await delegate(requireWorker(workers, worker), `${task}${results}`) };
            }),
          );
          for (const { id, delivery } of made)
            if (delivery.ok) {
              done.set(id, delivery.text);
              state.output = delivery.text;
            } else failure ??= `${id}: ${delivery.reason}`;
          open = open.filter((step) => !ready.includes(step));
          yield { done: [...done.keys()], failure };
        }
        if (failure !== null) continue;
        state.output = await think(
          `Task: ${prompt}\n\nResults:\n${describeDone(done.keys())}\n\nGive the answer.`,
        );
        return;
      }
      state.interrupted = true;
      state.interruptionReason = `${replans + 1} plans failed, the last one because of ${failure}`;
    },
  };
}

function requireWorker(workers: readonly AgentSpec<string>[], name: string): AgentSpec<string> {
  const worker = workers.find((each) => getAgentName(each) === name);
  if (!worker) throw new TypeError(`unknown worker ${name}`);
  return worker;
}

function planSchema(names: readonly string[]) {
  const text = { type: "string" };
  const properties = {
    id: text,
    task: text,
    worker: { ...text, enum: [...names] },
    after: { type: "array", items: text },
  };
  const items = {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
  return createObjectSchema({ steps: { type: "array", items, minItems: 1 } }, ({ steps }) => {
    const read = Array.isArray(steps) ? steps.map((step) => toStep(step, names)) : [];
    if (read.length === 0) return "steps must have at least one step";
    const wrong = read.find((step) => typeof step === "string");
    return wrong ?? { steps: read.filter((step) => typeof step !== "string") };
  });
}

function toStep(given: Json, names: readonly string[]): PlanStep | string {
  const { id, task, worker, after } = isJsonObject(given) ? given : {};
  if (typeof id !== "string" || typeof task !== "string") return "each step must have an id and a task";
  if (typeof worker !== "string" || !names.includes(worker))
    return `worker must be one of ${names.join(", ")}`;
  if (!Array.isArray(after)) return "after must be a list of ids";
  return { id, task, worker, after: after.filter((each) => typeof each === "string") };
}
