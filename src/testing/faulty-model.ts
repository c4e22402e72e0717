import type { Model } from "#kernel";

/** Returns the failure of a call. Null: none. */
export type FaultPlan = (call: number) => Error | "hang" | null;

/** A model that sometimes fails or hangs, by plan: the number of the call, from 1, decides. */
export function faultyModel(model: Model, plan: FaultPlan): Model {
  let calls = 0;
  return {
    ...model,
    generate: (request, call) => {
      const fault = plan(++calls);
      if (fault === null) return model.generate(request, call);
      if (fault !== "hang") return Promise.reject(fault);
      return new Promise((_, reject) => {
        call.signal.addEventListener("abort", () => reject(call.signal.reason), { once: true });
      });
    },
  };
}
