import type { EventType, NumberedEvent, RunStatus } from "#kernel";
import type { RunHandle } from "#runtime";
import { eventually } from "./harness.ts";

/** Returns all events of a tree, once it has ended. */
export async function historyOf(run: RunHandle): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events;
}

/** One event of a type, with its number. */
type Numbered<Type extends EventType> = Extract<NumberedEvent, { readonly type: Type }>;

/** The events of one type, in order. */
export function only<Type extends EventType>(
  events: readonly NumberedEvent[],
  type: Type,
): readonly Numbered<Type>[] {
  return events.filter((event): event is Numbered<Type> => event.type === type);
}

/** Returns the first matching event of a type, once it is published. */
export async function waitForEvent<Type extends EventType>(
  run: RunHandle,
  type: Type,
  fits: (event: Numbered<Type>) => boolean = () => true,
): Promise<Numbered<Type>> {
  for await (const event of run.events()) {
    const found = only([event], type)[0];
    if (found && fits(found)) return found;
  }
  throw new Error(`the tree ended without such a ${type}`);
}

/** Waits until a run has this status. */
export async function reaches(run: RunHandle, status: RunStatus): Promise<void> {
  await eventually(`${run.runId} is ${status}`, async () => (await run.status()) === status);
}
