import {
  AgentId,
  type Page,
  type PageRequest,
  type Partition,
  type RunFilter,
  type RunRecord,
  type RunStore,
  type TreeId,
} from "#kernel";
import { copy, pageOf, Shelf } from "./shelf.ts";

export class MemoryRuns implements RunStore {
  readonly shelf = new Shelf<RunRecord>();
  readonly #onEnd: (partition: Partition, tree: TreeId) => void;

  /** `onEnd` is called for each record of a root that has ended. */
  constructor(onEnd: (partition: Partition, tree: TreeId) => void = () => undefined) {
    this.#onEnd = onEnd;
  }

  async put(partition: Partition, run: RunRecord): Promise<void> {
    const runs = this.shelf.of(partition);
    if ((runs.get(run.runId)?.seq ?? -1) < run.seq) runs.set(run.runId, copy(run));
    if (run.parentRunId === null && run.endedAt !== null) this.#onEnd(partition, run.treeId);
  }

  async list(partition: Partition, filter: RunFilter, page: PageRequest): Promise<Page<RunRecord>> {
    const found = this.shelf
      .of(partition)
      .values()
      .filter((run) => fits(run, filter));
    return pageOf(found, page, (run) => [run.startedAt, run.runId]);
  }

  async tree(partition: Partition, tree: TreeId): Promise<readonly RunRecord[]> {
    const found = [...this.shelf.of(partition).values()].filter((run) => run.treeId === tree);
    return found.toSorted((a, b) => numberOf(a) - numberOf(b));
  }
}

function fits(run: RunRecord, filter: RunFilter): boolean {
  return (
    (filter.status === undefined || [filter.status].flat().includes(run.status)) &&
    (filter.stopReason === undefined || run.stopReason === filter.stopReason) &&
    run.startedAt >= (filter.since ?? -Infinity) &&
    run.startedAt < (filter.until ?? Infinity) &&
    (filter.agentType === undefined || AgentId.type(run.agentId) === filter.agentType) &&
    (filter.userId === undefined || run.userId === filter.userId) &&
    (filter.sessionId === undefined || run.sessionId === filter.sessionId) &&
    (filter.rootsOnly !== true || run.parentRunId === null) &&
    (filter.runIds?.includes(run.runId) ?? true)
  );
}

const numberOf = ({ runId, treeId }: RunRecord): number => Number(runId.slice(treeId.length + 1));
