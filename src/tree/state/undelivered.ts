import type { NumberedEvent, RunId } from "#kernel";
import { eventsIn, valueOf } from "./events.ts";
import type { FromRun, RunReply } from "../protocol.ts";
import type { TreeWork } from "./tree-work.ts";

/*
 * Events for hooks. The hooks of an agent run on the worker that executes its runs, so the tree passes the events of a
 * run to the run itself, with the reply to its next call. Events caused by other callers wait until then: the run's
 * record names the values that hold them.
 */

/** Maximum number of waiting values. Hooks do not get events beyond it. */
const maxUndelivered = 256;

/** Wraps a method that a run calls: adds the events that were not passed to the run's hooks yet. */
export const answerRun =
  <Argument extends FromRun, Reply>(method: (work: TreeWork, argument: Argument) => Reply) =>
  (work: TreeWork, argument: Argument): RunReply<Reply> => {
    const reply = method(work, argument);
    const events = takeUntold(work, argument.run);
    return events.length > 0 ? { reply, events } : { reply };
  };

function takeUntold(work: TreeWork, id: RunId): readonly NumberedEvent[] {
  const known = work.lastKnown(id);
  if (!known?.undeliveredEvents) return [];
  const { undeliveredEvents } = known;
  const earlier = eventsIn(work.object, undeliveredEvents).filter(({ runId }) => runId === id);
  const events = [...earlier, ...work.takeAppended(id)];
  const run = work.run(id);
  if (run && undeliveredEvents.length > 0) work.put(id, { ...run, undeliveredEvents: [] });
  return events;
}

/** Leaves events in the tree until the run calls. */
function leave(work: TreeWork, id: RunId, undeliveredEvents: readonly number[]): void {
  work.put(id, { ...work.live(id), undeliveredEvents });
  if (!work.tree.hasUntold) work.change({ hasUntold: true });
}

/** Records, for each live run with hooks, its events that this call has appended and not passed to it. */
export function noteUndelivered(work: TreeWork): void {
  /** The run of the last event, unless it has hooks. Most events of a call are of one run. */
  let withoutHooks: RunId | null = null;
  for (const { runId, agent, seq } of work.untaken) {
    if (runId === withoutHooks) continue;
    const hasHooks = work.slot(runId) !== undefined && work.host.policyOf(agent).hasHooks;
    const run = hasHooks ? work.run(runId) : null;
    if (!run?.undeliveredEvents) {
      withoutHooks = runId;
      continue;
    }
    const value = valueOf(seq, work.tree.seq + 1);
    if (run.undeliveredEvents.length < maxUndelivered && run.undeliveredEvents.at(-1) !== value)
      leave(work, runId, [...run.undeliveredEvents, value]);
  }
}
