import {
  AgentId,
  Json,
  Page,
  type PageRequest,
  type Partition,
  type PageCursor,
  type RunFilter,
  type RunRecord,
  RunStatus,
  type RunStore,
  type StopReason,
  type LiveTotals,
  type TreeId,
  type TreeSearch,
  type UserId,
} from "#kernel";
import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Access } from "./access.ts";
import { writeUnlessErased } from "./erased-trees.ts";
import { isBehindCursor } from "./newest-first.ts";
import { selectFound } from "./tree-search.ts";
import type { Tables } from "./tables.ts";

type Row = Selectable<Tables["reeve_run"]>;

export class SqlRuns implements RunStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async put(partition: Partition, run: RunRecord): Promise<void> {
    await writeUnlessErased(
      this.#access,
      { partition, tree: run.treeId, part: "records" },
      async (db, tenant) => {
        await db
          .insertInto("reeve_run")
          .values(rowOf(tenant, run))
          .onConflict((conflict) =>
            conflict
              .columns(["tenant_id", "run_id"])
              .doUpdateSet((eb) => ({
                status: eb.ref("excluded.status"),
                stop_reason: eb.ref("excluded.stop_reason"),
                started_at: eb.ref("excluded.started_at"),
                ended_at: eb.ref("excluded.ended_at"),
                spend: eb.ref("excluded.spend"),
                in_doubt: eb.ref("excluded.in_doubt"),
                reserved: eb.ref("excluded.reserved"),
                max_cost: eb.ref("excluded.max_cost"),
                name: eb.ref("excluded.name"),
                agents: eb.ref("excluded.agents"),
                live_agents: eb.ref("excluded.live_agents"),
                seq: eb.ref("excluded.seq"),
              }))
              .whereRef("reeve_run.seq", "<", "excluded.seq"),
          )
          .execute();
      },
    );
  }

  async list(partition: Partition, filter: RunFilter, request: PageRequest): Promise<Page<RunRecord>> {
    const { size, after } = Page.request(request);
    if (filter.runIds?.length === 0) return { items: [], next: null };
    const statuses = filter.status === undefined ? [undefined] : [filter.status].flat();
    const reasons = filter.stopReason === undefined ? [undefined] : [filter.stopReason].flat();
    // One of the databases does not support an empty list.
    if (filter.runIds?.length === 0) return { items: [], next: null };
    const kinds = statuses.flatMap((status) => reasons.map((stopReason) => ({ status, stopReason })));
    // An index serves one status, or one reason: the newest of each are read and put together.
    const lists = await Promise.all(
      kinds.map((kind) => this.#listNewest(partition, { ...filter, ...kind }, { limit: size + 1, after })),
    );
    const rows =
      lists.length === 1
        ? lists.flat()
        : lists
            .flat()
            .toSorted(newestFirst)
            .slice(0, size + 1);
    return Page.of(rows.map(toRunRecord), size, (run) => [run.startedAt, run.runId]);
  }

  /** The newest runs of one status and reason, or of any. */
  async #listNewest(
    partition: Partition,
    filter: Omit<RunFilter, "status" | "stopReason"> & {
      readonly status: RunStatus | undefined;
      readonly stopReason: StopReason | undefined;
    },
    { limit, after }: { readonly limit: number; readonly after: PageCursor | null },
  ): Promise<readonly Row[]> {
    const { status, stopReason, since, until, agentType, userId, sessionId, rootsOnly, runIds } = filter;
    return this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_run")
        .selectAll()
        .where("tenant_id", "=", tenant)
        .where((eb) => isBehindCursor(eb, { at: "started_at", id: "run_id", place: after }))
        .$if(status !== undefined, (query) => query.where("status", "=", status ?? ""))
        .$if(stopReason !== undefined, (query) => query.where("stop_reason", "=", stopReason ?? ""))
        .$if(since !== undefined, (query) => query.where("started_at", ">=", since ?? 0))
        .$if(until !== undefined, (query) => query.where("started_at", "<", until ?? 0))
        .$if(agentType !== undefined, (query) => query.where("agent_type", "=", agentType ?? ""))
        .$if(userId !== undefined, (query) => query.where("user_id", "=", userId ?? ""))
        .$if(sessionId !== undefined, (query) => query.where("session_id", "=", sessionId ?? ""))
        .$if(runIds !== undefined, (query) => query.where("run_id", "in", runIds ?? []))
        .$if(rootsOnly === true, (query) => query.where("parent_run_id", "is", null))
        .$if(runIds !== undefined, (query) => query.where("run_id", "in", [...(runIds ?? [])]))
        .orderBy("started_at", "desc")
        .orderBy("run_id", "desc")
        .limit(limit)
        .execute(),
    );
  }

  async search(partition: Partition, search: TreeSearch, request: PageRequest): Promise<Page<RunRecord>> {
    const { size, after } = Page.request(request);
    const rows = await this.#access.read(partition, (db, tenant) =>
      selectFound(
        db
          .selectFrom("reeve_run")
          .selectAll()
          .where("tenant_id", "=", tenant)
          .limit(size + 1),
        search,
        after,
      ).execute(),
    );
    return Page.of(rows.map(toRunRecord), size, searchPlace(search));
  }

  async live(partition: Partition, { userId }: { readonly userId?: UserId }): Promise<LiveTotals> {
    const totals = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_run")
        .select([
          sql<number>`count(*)`.as("trees"),
          sumColumn("live_agents").as("agents"),
          sumColumn("spend").as("costMicros"),
          sumColumn("in_doubt").as("inDoubtMicros"),
          sumColumn("reserved").as("reservedMicros"),
        ])
        .where("tenant_id", "=", tenant)
        .where("parent_run_id", "is", null)
        .where("status", "in", [...RunStatus.live])
        .$if(userId !== undefined, (query) => query.where("user_id", "=", userId ?? ""))
        .executeTakeFirstOrThrow(),
    );
    return { ...totals };
  }

  async tree(partition: Partition, tree: TreeId): Promise<readonly RunRecord[]> {
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_run")
        .selectAll()
        .where("tenant_id", "=", tenant)
        .where("tree_id", "=", tree)
        // A shorter number is a smaller one.
        .orderBy(sql`length(run_id)`)
        .orderBy("run_id")
        .execute(),
    );
    return rows.map(toRunRecord);
  }
}

const searchPlace =
  (search: TreeSearch) =>
  (run: RunRecord): PageCursor =>
    "minCostMicros" in search
      ? [run.costMicros, run.runId]
      : [0, "name" in search ? `${run.name ?? ""}\n${run.runId}` : run.runId];

const sumColumn = (name: string): RawBuilder<number> =>
  sql<number>`cast(coalesce(sum(${sql.ref(name)}), 0) as bigint)`;

const newestFirst = (a: Row, b: Row): number => b.started_at - a.started_at || (a.run_id < b.run_id ? 1 : -1);

function rowOf(tenant: string, run: RunRecord): Row {
  return {
    tenant_id: tenant,
    run_id: run.runId,
    tree_id: run.treeId,
    parent_run_id: run.parentRunId,
    agent_id: run.agentId,
    agent_type: AgentId.type(run.agentId),
    user_id: run.userId ?? "",
    session_id: run.sessionId,
    status: run.status,
    stop_reason: run.stopReason,
    started_at: run.startedAt,
    ended_at: run.endedAt,
    spend: run.costMicros,
    in_doubt: run.inDoubtMicros,
    reserved: run.reservedMicros,
    max_cost: run.maxCostMicros,
    name: run.name,
    agents: run.agents,
    live_agents: run.liveAgents,
    seq: run.seq,
  };
}

function toRunRecord(row: Row): RunRecord {
  return Json.as({
    treeId: row.tree_id,
    runId: row.run_id,
    parentRunId: row.parent_run_id,
    agentId: row.agent_id,
    userId: row.user_id === "" ? null : row.user_id,
    sessionId: row.session_id,
    status: row.status,
    stopReason: row.stop_reason,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    costMicros: row.spend,
    inDoubtMicros: row.in_doubt,
    reservedMicros: row.reserved,
    maxCostMicros: row.max_cost,
    name: row.name,
    agents: row.agents,
    liveAgents: row.live_agents,
    seq: row.seq,
  });
}
