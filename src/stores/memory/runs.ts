import {
  AgentId,
  type LiveTotals,
  Page,
  type PageRequest,
  type Partition,
  type PageCursor,
  type RunFilter,
  type RunRecord,
  type RunStore,
  type TreeId,
  type TreeSearch,
  type UserId,
} from "#kernel";
import type { ErasedTrees } from "./erased-trees.ts";
import { copy, toPage, TenantMap } from "./tenant-map.ts";

export class MemoryRuns implements RunStore {
  readonly byTenant = new TenantMap<RunRecord>();
  readonly #erased: ErasedTrees;
  readonly #onEnd: (partition: Partition, tree: TreeId) => void;

  /** `onEnd` is called for each record of a root that has ended. */
  constructor(erased: ErasedTrees, onEnd: (partition: Partition, tree: TreeId) => void) {
    this.#erased = erased;
    this.#onEnd = onEnd;
  }

  async put(partition: Partition, run: RunRecord): Promise<void> {
    if (this.#erased.hasRecords(partition, run.treeId)) return;
    const runs = this.byTenant.getItems(partition);
    if ((runs.get(run.runId)?.seq ?? -1) < run.seq) runs.set(run.runId, copy(run));
    if (run.parentRunId === null && run.endedAt !== null) this.#onEnd(partition, run.treeId);
  }

  async list(partition: Partition, filter: RunFilter, page: PageRequest): Promise<Page<RunRecord>> {
    const found = this.byTenant
      .getItems(partition)
      .values()
      .filter((run) => fits(run, filter));
    return toPage(found, page, (run) => [run.startedAt, run.runId]);
  }

  async search(partition: Partition, search: TreeSearch, request: PageRequest): Promise<Page<RunRecord>> {
    const { size, after } = Page.request(request);
    const found = [...this.byTenant.getItems(partition).values()]
      .filter((run) => run.parentRunId === null && isFound(run, search))
      .toSorted((a, b) => compareFound(search, a, b))
      .map((run) => ({ run, place: toRunCursor(search, run) }));
    const start = after === null ? 0 : found.findIndex(({ place }) => isBehind(search, place, after));
    const rest = start === -1 ? [] : found.slice(start, start + size + 1).map(({ run }) => run);
    return Page.of(rest, size, (run) => toRunCursor(search, run));
  }

  async live(partition: Partition, { userId }: { readonly userId?: UserId }): Promise<LiveTotals> {
    const totals = { trees: 0, agents: 0, costMicros: 0, inDoubtMicros: 0, reservedMicros: 0 };
    for (const run of this.byTenant.getItems(partition).values()) {
      const isOther = userId !== undefined && run.userId !== userId;
      if (run.parentRunId !== null || run.endedAt !== null || isOther) continue;
      totals.trees += 1;
      totals.agents += run.liveAgents ?? 0;
      totals.costMicros += run.costMicros;
      totals.inDoubtMicros += run.inDoubtMicros;
      totals.reservedMicros += run.reservedMicros;
    }
    return totals;
  }

  async tree(partition: Partition, tree: TreeId): Promise<readonly RunRecord[]> {
    const found = [...this.byTenant.getItems(partition).values()].filter((run) => run.treeId === tree);
    return found.toSorted((a, b) => numberOf(a) - numberOf(b));
  }
}

function fits(run: RunRecord, filter: RunFilter): boolean {
  return (
    (filter.status === undefined || [filter.status].flat().includes(run.status)) &&
    (filter.stopReason === undefined ||
      [filter.stopReason].flat().some((reason) => reason === run.stopReason)) &&
    run.startedAt >= (filter.since ?? -Infinity) &&
    run.startedAt < (filter.until ?? Infinity) &&
    (filter.agentType === undefined || AgentId.type(run.agentId) === filter.agentType) &&
    (filter.userId === undefined || run.userId === filter.userId) &&
    (filter.sessionId === undefined || run.sessionId === filter.sessionId) &&
    (filter.rootsOnly !== true || run.parentRunId === null) &&
    (filter.runIds === undefined || filter.runIds.includes(run.runId))
  );
}

/** The key of a run in a search by id or by name. */
const toSearchText = (search: TreeSearch, run: RunRecord): string =>
  "name" in search ? `${run.name ?? ""}\n${run.runId}` : run.runId;

const toRunCursor = (search: TreeSearch, run: RunRecord): PageCursor =>
  "minCostMicros" in search ? [run.costMicros, run.runId] : [0, toSearchText(search, run)];

function isFound(run: RunRecord, search: TreeSearch): boolean {
  if ("minCostMicros" in search) return run.costMicros >= search.minCostMicros;
  return "id" in search ? run.runId.startsWith(search.id) : (run.name?.startsWith(search.name) ?? false);
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function compareFound(search: TreeSearch, a: RunRecord, b: RunRecord): number {
  if ("minCostMicros" in search) return b.costMicros - a.costMicros || compareTexts(b.runId, a.runId);
  const byName = "name" in search ? compareTexts(a.name ?? "", b.name ?? "") : 0;
  return byName || compareTexts(a.runId, b.runId);
}

function isBehind(search: TreeSearch, [at, id]: PageCursor, [lastAt, lastId]: PageCursor): boolean {
  if ("minCostMicros" in search) return at < lastAt || (at === lastAt && id < lastId);
  return id > lastId;
}

const numberOf = ({ runId, treeId }: RunRecord): number => Number(runId.slice(treeId.length + 1));
