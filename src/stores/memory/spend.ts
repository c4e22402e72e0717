import {
  type Json,
  Spend,
  type CallInDoubt,
  type Page,
  type PageRequest,
  type Partition,
  type SpendDimension,
  type SpendQuery,
  type SpendRow,
  type SpendStore,
  type SpendSum,
  TreeId,
  type TreeSpend,
  type UserId,
} from "#kernel";
import { copy, toPage, TenantMap } from "./tenant-map.ts";

/** A row that belongs to no tree any more. */
interface DayRow extends SpendRow {
  readonly userId: UserId | null;
}

/** A row as sums see it. */
interface OwnedRow extends DayRow {
  readonly treeId: TreeId | null;
}

export class MemorySpend implements SpendStore {
  readonly byTenant = new TenantMap<TreeSpend>();
  readonly #days = new TenantMap<DayRow>();
  /** The money of all trees, by hour, agent and model. */
  readonly #sums = new TenantMap<SpendRow>();

  async tree(partition: Partition, tree: TreeId): Promise<TreeSpend | null> {
    return copy(this.byTenant.getItems(partition).get(tree) ?? null);
  }

  async put(partition: Partition, tree: TreeId, spend: TreeSpend): Promise<void> {
    const trees = this.byTenant.getItems(partition);
    const before = trees.get(tree);
    if (before && (before.seq >= spend.seq || before.rolledSeq !== spend.rolledSeq)) return;
    trees.set(tree, copy(spend));
    const sums = this.#sums.getItems(partition);
    for (const row of Spend.changes(before?.rows ?? [], spend.rows)) {
      const key = JSON.stringify([row.hour, row.agentType, row.model]);
      sums.set(key, { ...row, ...Spend.add(sums.get(key) ?? Spend.none, row) });
    }
  }

  async sum(partition: Partition, query: SpendQuery): Promise<readonly SpendSum[]> {
    const groups = new Map<string, SpendSum>();
    const top = await this.#topUsers(partition, query);
    for (const row of isOfAll(query) ? this.#allTrees(partition) : this.#rows(partition)) {
      if (!fits(row, query)) continue;
      const names = top?.has(row.userId) === false ? query.by.filter((name) => name !== "user") : query.by;
      const group = Object.fromEntries(names.map((name) => [name, valueOf[name](row)]));
      const key = JSON.stringify(group);
      groups.set(key, { ...group, ...Spend.add(groups.get(key) ?? Spend.none, row) });
    }
    const sorted = [...groups].toSorted(
      ([a, one], [b, other]) => moneyOf(other) - moneyOf(one) || (a < b ? -1 : 1),
    );
    return sorted.slice(0, query.limit).map(([, sum]) => copy(sum));
  }

  /** Returns the users that keep groups. Null: all. */
  async #topUsers(
    partition: Partition,
    { topUsers, ...query }: SpendQuery,
  ): Promise<ReadonlySet<UserId | null> | null> {
    if (topUsers === undefined || !query.by.includes("user")) return null;
    const sums = await this.sum(partition, { ...query, by: ["user"], limit: topUsers });
    return new Set(sums.map(({ user = null }) => user));
  }

  async inDoubt(
    partition: Partition,
    { userId }: { readonly userId?: UserId },
    page: PageRequest,
  ): Promise<Page<CallInDoubt>> {
    const found = [...this.byTenant.getItems(partition)].flatMap(([tree, spend]) =>
      userId === undefined || spend.userId === userId ? doubtsOf(TreeId.of(tree), spend) : [],
    );
    return toPage(found, page, ({ at, attempt }) => [at, attempt]);
  }

  async compact(partition: Partition, before: number): Promise<number> {
    const quiet = [...this.byTenant.getItems(partition)].filter(
      ([, { seq, rolledSeq, rows, calls }]) =>
        rolledSeq < seq &&
        Spend.lastHour({ rows }) < before &&
        calls.every(({ state }) => state === "settled"),
    );
    const trees = quiet.slice(0, Spend.maxCompacted);
    for (const [tree, spend] of trees) this.#addUp(partition, TreeId.of(tree), spend);
    return trees.length;
  }

  /** Keeps the money of a tree in rows by day. */
  forget(partition: Partition, tree: TreeId): void {
    const spend = this.byTenant.getItems(partition).get(tree);
    if (spend) this.#addUp(partition, tree, spend);
    this.byTenant.getItems(partition).delete(tree);
  }

  /** Keeps the money of a user's trees under no user and no tree. */
  eraseUser(partition: Partition, user: UserId | null): void {
    for (const [tree, spend] of this.byTenant.getItems(partition))
      if (spend.userId === user) this.#addUp(partition, TreeId.of(tree), { ...spend, userId: null });
    const days = this.#days.getItems(partition);
    for (const [key, row] of days) {
      if (row.userId !== user || user === null) continue;
      days.delete(key);
      this.#addDay(partition, { ...row, userId: null });
    }
  }

  #addUp(partition: Partition, tree: TreeId, spend: TreeSpend): void {
    const { userId, seq, rows } = spend;
    for (const row of rows) this.#addDay(partition, { ...row, hour: Spend.dayStart(row.hour), userId });
    this.byTenant.getItems(partition).set(tree, { userId, seq, rolledSeq: seq, rows: [], calls: [] });
  }

  #addDay(partition: Partition, row: DayRow): void {
    const days = this.#days.getItems(partition);
    const key = JSON.stringify([row.hour, row.userId, row.agentType, row.model]);
    days.set(key, { ...row, ...Spend.add(days.get(key) ?? Spend.none, row) });
  }

  *#allTrees(partition: Partition): Generator<OwnedRow, void> {
    for (const row of this.#sums.getItems(partition).values()) yield { ...row, userId: null, treeId: null };
  }

  *#rows(partition: Partition): Generator<OwnedRow, void> {
    for (const row of this.#days.getItems(partition).values()) yield { ...row, treeId: null };
    for (const [tree, { rows, userId }] of this.byTenant.getItems(partition))
      for (const row of rows) yield { ...row, userId, treeId: TreeId.of(tree) };
  }
}

const valueOf: Readonly<Record<SpendDimension, (row: OwnedRow) => Json>> = {
  day: ({ hour }) => Spend.dayStart(hour) / 24,
  hour: ({ hour }) => hour,
  agent: ({ agentType }) => agentType,
  model: ({ model }) => model,
  user: ({ userId }) => userId,
  tree: ({ treeId }) => treeId,
};

/** Whether a query tells neither users nor trees apart. */
const isOfAll = ({ by, userId }: SpendQuery): boolean =>
  userId === undefined && !by.includes("user") && !by.includes("tree");

const fits = (row: OwnedRow, { from, to, agentType, model, userId }: SpendQuery): boolean =>
  row.hour >= from &&
  row.hour < to &&
  (agentType === undefined || row.agentType === agentType) &&
  (model === undefined || row.model === model) &&
  (userId === undefined || row.userId === userId);

const doubtsOf = (treeId: TreeId, { calls, userId }: TreeSpend): readonly CallInDoubt[] =>
  calls.flatMap(({ state, ...call }) => (state === "in-doubt" ? [{ ...call, treeId, userId }] : []));

const moneyOf = (sum: SpendSum): number => sum.settledMicros + sum.inDoubtMicros;
