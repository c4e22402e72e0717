import {
  AgentId,
  eraseApproval,
  Json,
  NotFoundError,
  Page,
  type PageRequest,
  type Partition,
  type ApprovalDecision,
  type ApprovalFilter,
  type ApprovalId,
  type ApprovalRecord,
  type ApprovalRequest,
  type ApprovalStore,
  type TreeId,
} from "#kernel";
import type { Access } from "./access.ts";
import { writeUnlessErased } from "./erased-trees.ts";
import { isBehindCursor } from "./newest-first.ts";

export class SqlApprovals implements ApprovalStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async request(partition: Partition, approval: ApprovalRequest): Promise<void> {
    await writeUnlessErased(
      this.#access,
      { partition, tree: approval.treeId, part: "records" },
      async (db, tenant) => {
        await db
          .insertInto("reeve_approval")
          .values({
            tenant_id: tenant,
            approval_id: approval.id,
            tree_id: approval.treeId,
            requested_at: approval.requestedAt,
            body: JSON.stringify(approval),
            decision: null,
            agent_type: AgentId.type(approval.agentId),
            tool: approval.tool,
            risk: approval.risk,
          })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      },
    );
  }

  async decide(partition: Partition, id: ApprovalId, decision: ApprovalDecision): Promise<ApprovalRecord> {
    const row = await this.#access.write(partition, async (db, tenant) => {
      const key = { tenant_id: tenant, approval_id: id };
      await db
        .updateTable("reeve_approval")
        .set({ decision: JSON.stringify(decision) })
        .where((eb) => eb.and(key))
        .where("decision", "is", null)
        .execute();
      const asked = db.selectFrom("reeve_approval").select(["body", "decision"]);
      return asked.where((eb) => eb.and(key)).executeTakeFirst();
    });
    if (!row) throw new NotFoundError({ what: "approval", id });
    return toApprovalRecord(row);
  }

  async erase(partition: Partition, tree: TreeId): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      const theirs = { tenant_id: tenant, tree_id: tree };
      const rows = await db
        .selectFrom("reeve_approval")
        .select(["approval_id", "body", "decision"])
        .where((eb) => eb.and(theirs))
        .execute();
      for (const row of rows) {
        const { decision, ...asked } = eraseApproval(toApprovalRecord(row));
        await db
          .updateTable("reeve_approval")
          .set({ body: JSON.stringify(asked), decision: decision && JSON.stringify(decision) })
          .where((eb) => eb.and({ ...theirs, approval_id: row.approval_id }))
          .execute();
      }
    });
  }

  async list(
    partition: Partition,
    { state, treeId, userId, agentType, tool, risk }: ApprovalFilter,
    request: PageRequest,
  ): Promise<Page<ApprovalRecord>> {
    const { size, after } = Page.request(request);
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_approval")
        .select(["body", "decision"])
        .where("tenant_id", "=", tenant)
        .where((eb) => isBehindCursor(eb, { at: "requested_at", id: "approval_id", place: after }))
        .$if(state !== undefined, (query) =>
          query.where("decision", state === "pending" ? "is" : "is not", null),
        )
        .$if(treeId !== undefined, (query) => query.where("tree_id", "=", treeId ?? ""))
        .$if(agentType !== undefined, (query) => query.where("agent_type", "=", agentType ?? ""))
        .$if(tool !== undefined, (query) => query.where("tool", "=", tool ?? ""))
        .$if(risk !== undefined, (query) => query.where("risk", "=", risk ?? ""))
        .$if(userId !== undefined, (query) =>
          query.where("tree_id", "in", (eb) =>
            eb
              .selectFrom("reeve_run")
              .select("reeve_run.tree_id")
              .where((run) => run.and({ "reeve_run.tenant_id": tenant, "reeve_run.user_id": userId ?? "" })),
          ),
        )
        .orderBy("requested_at", "desc")
        .orderBy("approval_id", "desc")
        .limit(size + 1)
        .execute(),
    );
    return Page.of(rows.map(toApprovalRecord), size, (approval) => [approval.requestedAt, approval.id]);
  }
}

function toApprovalRecord({
  body,
  decision,
}: {
  readonly body: string;
  readonly decision: string | null;
}): ApprovalRecord {
  const decided = decision === null ? null : JSON.parse(decision);
  return { ...Json.as<ApprovalRecord>(JSON.parse(body)), decision: decided };
}
