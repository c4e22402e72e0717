import { AsyncLocalStorage } from "node:async_hooks";
import { NestedStepError, type RunScope } from "#kernel";

interface Ambient {
  readonly scope: RunScope;
  /** The step whose closure this is; null in agent code. */
  readonly step: string | null;
}

const storage = new AsyncLocalStorage<Ambient>();

/** For whom and for what the code that calls this works; null outside a run. */
export function currentScope(): RunScope | null {
  return storage.getStore()?.scope ?? null;
}

/** Runs agent code. */
export function inRun<T>(scope: RunScope, body: () => T): T {
  return storage.run({ scope, step: null }, body);
}

/** Runs the closure of a step. */
export function inStep<T>(scope: RunScope, step: string, body: () => T): T {
  return storage.run({ scope, step }, body);
}

/** @throws NestedStepError inside the closure of a step. */
export function refuseInStep(): void {
  const step = storage.getStore()?.step;
  if (step) throw new NestedStepError({ step });
}
