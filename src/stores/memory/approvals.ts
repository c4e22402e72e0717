import {
  AgentId,
  eraseApproval,
  NotFoundError,
  type Page,
  type PageRequest,
  type Partition,
  type ApprovalDecision,
  type ApprovalFilter,
  type ApprovalId,
  type ApprovalRecord,
  type ApprovalRequest,
  type ApprovalStore,
  type TreeId,
  type UserId,
} from "#kernel";
import type { ErasedTrees } from "./erased-trees.ts";
import { copy, toPage, TenantMap } from "./tenant-map.ts";

export class MemoryApprovals implements ApprovalStore {
  readonly byTenant = new TenantMap<ApprovalRecord>();
  readonly #erased: ErasedTrees;
  readonly #userOf: (partition: Partition, tree: TreeId) => UserId | null | undefined;

  /** `userOf` returns the user of a tree. Undefined if no run of the tree is known. */
  constructor(
    erased: ErasedTrees,
    userOf: (partition: Partition, tree: TreeId) => UserId | null | undefined,
  ) {
    this.#erased = erased;
    this.#userOf = userOf;
  }

  async request(partition: Partition, approval: ApprovalRequest): Promise<void> {
    if (this.#erased.hasRecords(partition, approval.treeId)) return;
    const approvals = this.byTenant.getItems(partition);
    if (!approvals.has(approval.id)) approvals.set(approval.id, copy({ ...approval, decision: null }));
  }

  async decide(partition: Partition, id: ApprovalId, decision: ApprovalDecision): Promise<ApprovalRecord> {
    const asked = this.byTenant.getItems(partition).get(id);
    if (!asked) throw new NotFoundError({ what: "approval", id });
    const decided = copy({ ...asked, decision: asked.decision ?? decision });
    this.byTenant.getItems(partition).set(id, decided);
    return decided;
  }

  async erase(partition: Partition, tree: TreeId): Promise<void> {
    const approvals = this.byTenant.getItems(partition);
    for (const [id, approval] of approvals)
      if (approval.treeId === tree) approvals.set(id, copy(eraseApproval(approval)));
  }

  async list(
    partition: Partition,
    { state, treeId, userId, agentType, tool, risk }: ApprovalFilter,
    page: PageRequest,
  ): Promise<Page<ApprovalRecord>> {
    const found = this.byTenant
      .getItems(partition)
      .values()
      .filter((approval) => state === undefined || (approval.decision === null) === (state === "pending"))
      .filter((approval) => treeId === undefined || approval.treeId === treeId)
      .filter(({ agentId }) => agentType === undefined || AgentId.type(agentId) === agentType)
      .filter((approval) => tool === undefined || approval.tool === tool)
      .filter((approval) => risk === undefined || approval.risk === risk)
      .filter((approval) => userId === undefined || this.#userOf(partition, approval.treeId) === userId);
    return toPage(found, page, (approval) => [approval.requestedAt, approval.id]);
  }
}
