import {
  listAll,
  RunId,
  type AttemptId,
  type NumberedEvent,
  type Partition,
  type StepId,
  type StepManifest,
  type Store,
} from "#kernel";

/** Whether the content of a step can be read. */
type StepContentState = "recorded" | "erased" | "not-recorded";

/** A step of a run in a list, without content. */
export interface StepSummary {
  readonly runId: RunId;
  readonly stepId: StepId;
  /** The last attempt of the step in one execution. Null if none is known. */
  readonly attempt: AttemptId | null;
  readonly at: number;
  readonly content: StepContentState;
  /** Null unless the content is recorded. */
  readonly manifest: StepManifest | null;
}

const perRead = 256;

/** Lists the ended steps of a run, by the events of its tree, that have no manifest. */
export async function listUnrecorded(
  store: Store,
  partition: Partition,
  runId: RunId,
): Promise<readonly StepSummary[]> {
  const recorded = await listRecorded(store, partition, runId);
  const started = new Map<string, StepSummary>();
  const found = new Map<StepId, StepSummary>();
  for await (const event of eventsOf(store, partition, runId)) {
    const key = callKey(event);
    if (event.type === "model.start" || event.type === "tool.start") {
      const { step: stepId, attempt, at } = event;
      started.set(key, { runId, stepId, attempt, at, content: "not-recorded", manifest: null });
    }
    if (event.type !== "model.end" && event.type !== "tool.end") continue;
    const step = started.get(key);
    if (step && !recorded.has(step.stepId)) found.set(step.stepId, step);
  }
  return [...found.values()];
}

/** Returns the key of a call: its attempt. A tool that is agent code has only the id of the call. */
const callKey = (event: NumberedEvent): string =>
  event.attempt ?? ("callId" in event ? `call ${event.callId}` : "");

async function listRecorded(store: Store, partition: Partition, run: RunId): Promise<ReadonlySet<StepId>> {
  const recorded = new Set<StepId>();
  for await (const manifests of listAll((page) => store.manifests.list(partition, run, page), perRead))
    for (const { stepId } of manifests) recorded.add(stepId);
  return recorded;
}

async function* eventsOf(store: Store, partition: Partition, run: RunId): AsyncIterable<NumberedEvent> {
  for (let after = 0; ;) {
    const events = await store.events.read(partition, RunId.tree(run), { after, limit: perRead });
    yield* events.filter(({ runId }) => runId === run);
    const last = events.at(-1);
    if (!last || events.length < perRead) return;
    after = last.seq;
  }
}
