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

/** Whose. Default: those of nobody in particular. */
interface Whose {
  readonly tenant?: string | undefined;
}

/** Questions to people: from any process. */
export class Approvals {
  readonly #engine: Engine;
  readonly #store: Store | null;
  readonly #now: () => number;

  constructor(engine: Engine, store: Store | null, now: () => number) {
    this.#engine = engine;
    this.#store = store;
    this.#now = now;
  }

  /** Newest first, from the store: a little behind what really happens. @throws TypeError without a store. */
  list(
    {
      tenant,
      user,
      tree,
      state,
      agent,
      tool,
      risk,
    }: Whose & {
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
    if (!this.#store) throw new TypeError("lists need a store: createRuntime({ store })");
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

  /** Every question of one tree, in the order they were asked, as it knows them now. */
  async ofTree(tree: string, { tenant }: Whose = {}): Promise<readonly ApprovalRecord[]> {
    const address = treeAddress(TreeId.of(tree), tenant);
    return callTree((method, given) => this.#engine.call(address, method, given), "approvals", null);
  }

  /**
   * Settles a question; the run goes on. Bound to the tree, run, tool and arguments that were asked about; counts once.
   *
   * @throws NotFoundError; ApprovalRefusedError if it was decided before, has expired, its run is over, or `hash` names
   * other arguments.
   */
  async decide(id: string, answer: ApprovalAnswer, { tenant }: Whose = {}): Promise<ApprovalDecision> {
    const approval = ApprovalId.parse(id);
    const address = treeAddress(ApprovalId.tree(approval), tenant);
    const argument = { ...answer, approval, operationId: randomUUID(), at: this.#now() };
    return callTree((method, given) => this.#engine.call(address, method, given), "decideApproval", argument);
  }
}
