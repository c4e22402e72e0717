import { randomUUID } from "node:crypto";
import {
  ApprovalId,
  type ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalFilter,
  type ApprovalRecord,
  type Engine,
  type Page,
  type PageRequest,
  Partition,
  type Risk,
  type Store,
  TreeId,
  UserId,
} from "#kernel";
import { treeAddress, callTree } from "#tree";

/** The tenant to read. Default: the partition without a tenant. */
interface TenantFilter {
  readonly tenant?: string | undefined;
}

/** Approval requests to people, accessible from any process. */
export class Approvals {
  readonly #engine: Engine;
  readonly #store: Store | null;
  readonly #now: () => number;

  constructor(engine: Engine, store: Store | null, now: () => number) {
    this.#engine = engine;
    this.#store = store;
    this.#now = now;
  }

  /** Lists approvals, newest first, from the store, which lags slightly behind. @throws TypeError without a store. */
  list(
    {
      tenant,
      user,
      tree,
      state,
      agent,
      tool,
      risk,
    }: TenantFilter & {
      /** Only those of trees that work for this user. Default: any. */
      readonly user?: string | undefined;
      readonly tree?: string;
      readonly state?: ApprovalFilter["state"];
      /** The type of the agent that asks. */
      readonly agent?: string;
      readonly tool?: string;
      readonly risk?: Risk;
    } = {},
    page: PageRequest = { size: 50 },
  ): Promise<Page<ApprovalRecord>> {
    if (!this.#store) throw new TypeError("lists need a store: set createRuntime({ store })");
    const filter = {
      ...(state && { state }),
      ...(tree !== undefined && { treeId: TreeId.of(tree) }),
      ...(user !== undefined && { userId: UserId.of(user) }),
      ...(agent !== undefined && { agentType: agent }),
      ...(tool !== undefined && { tool }),
      ...(risk && { risk }),
    };
    return this.#store.approvals.list(Partition.of(tenant), filter, page);
  }

  /** Returns every approval of one tree, in the order of the requests, from the tree itself. */
  async ofTree(tree: string, { tenant }: TenantFilter = {}): Promise<readonly ApprovalRecord[]> {
    const address = treeAddress(TreeId.of(tree), tenant);
    return callTree((method, given) => this.#engine.call(address, method, given), "approvals", null);
  }

  /**
   * Decides an approval; the run continues. The decision is bound to the tree, run, tool and arguments of the request,
   * and counts once.
   *
   * @throws NotFoundError; ApprovalRefusedError if it was decided before, has expired, its run has ended, or `hash`
   * names other arguments.
   */
  async decide(id: string, answer: ApprovalAnswer, { tenant }: TenantFilter = {}): Promise<ApprovalDecision> {
    const approval = ApprovalId.parse(id);
    const address = treeAddress(ApprovalId.tree(approval), tenant);
    const argument = { ...answer, approval, operationId: randomUUID(), at: this.#now() };
    return callTree((method, given) => this.#engine.call(address, method, given), "decideApproval", argument);
  }
}
