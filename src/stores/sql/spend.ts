import {
  Json,
  Page,
  Spend,
  type CallInDoubt,
  type PageRequest,
  type Partition,
  type SpendQuery,
  type SpendStore,
  type SpendSum,
  type TreeId,
  type TreeSpend,
  type UserId,
} from "#kernel";
import { sql } from "kysely";
import { batches, type Access } from "./access.ts";
import { selectGroups } from "./spend-groups.ts";
import { addToSums } from "./spend-sums.ts";
import { isBehindCursor } from "./newest-first.ts";
import {
  addUpRows,
  byKey,
  groupOf,
  replaceRows,
  toCall,
  toCallRow,
  toFigures,
  toRow,
  toUser,
} from "./spend-rows.ts";

export class SqlSpend implements SpendStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async tree(partition: Partition, tree: TreeId): Promise<TreeSpend | null> {
    return this.#access.read(partition, async (db, tenant) => {
      const own = { tenant_id: tenant, tree_id: tree };
      const head = await db
        .selectFrom("reeve_spend_tree")
        .select(["user_id", "seq", "rolled_seq"])
        .where((eb) => eb.and(own))
        .executeTakeFirst();
      if (!head) return null;
      const rows = await db
        .selectFrom("reeve_spend")
        .selectAll()
        .where((eb) => eb.and(own))
        .execute();
      const calls = await db
        .selectFrom("reeve_spend_call")
        .selectAll()
        .where((eb) => eb.and(own))
        .orderBy("at")
        .orderBy("attempt")
        .execute();
      return {
        userId: toUser(head.user_id),
        seq: head.seq,
        rolledSeq: head.rolled_seq,
        rows: rows.map(toRow).toSorted(byKey),
        calls: calls.map((call) => Json.as(Json.of({ ...toCall(call), state: call.state }))),
      };
    });
  }

  async put(partition: Partition, tree: TreeId, spend: TreeSpend): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      const own = { tenant_id: tenant, tree_id: tree, user_id: spend.userId ?? "" };
      // The row of the tree is locked first: a second writer sees its sequence.
      const taken = await db
        .insertInto("reeve_spend_tree")
        .values({
          ...own,
          seq: spend.seq,
          rolled_seq: spend.rolledSeq,
          last_hour: Spend.lastHour(spend),
          unsettled: spend.calls.filter(({ state }) => state !== "settled").length,
        })
        .onConflict((conflict) =>
          conflict
            .columns(["tenant_id", "tree_id"])
            .doUpdateSet((eb) => ({
              user_id: eb.ref("excluded.user_id"),
              seq: eb.ref("excluded.seq"),
              last_hour: eb.ref("excluded.last_hour"),
              unsettled: eb.ref("excluded.unsettled"),
            }))
            .whereRef("reeve_spend_tree.seq", "<", "excluded.seq")
            .whereRef("reeve_spend_tree.rolled_seq", "=", "excluded.rolled_seq"),
        )
        .returning("seq")
        .executeTakeFirst();
      if (!taken) return;
      const before = await db
        .selectFrom("reeve_spend")
        .selectAll()
        .where((eb) => eb.and(own))
        .execute();
      for (const rows of batches(spend.rows)) await replaceRows(db, own, rows);
      await db
        .deleteFrom("reeve_spend_call")
        .where((eb) => eb.and({ tenant_id: tenant, tree_id: tree }))
        .execute();
      for (const calls of batches(spend.calls))
        await db
          .insertInto("reeve_spend_call")
          .values(calls.map((call) => toCallRow(own, call)))
          .execute();
      // Last: other trees wait for the sums until this transaction ends.
      await addToSums(db, { tenant, user: own.user_id }, Spend.changes(before.map(toRow), spend.rows));
    });
  }

  async sum(partition: Partition, query: SpendQuery): Promise<readonly SpendSum[]> {
    const { by } = query;
    const found = await this.#access.read(partition, (db, tenant) => selectGroups(query, tenant).execute(db));
    return found.rows.map((row) => {
      const group = by
        .filter((name) => row[`by_${name}`] !== null)
        .map((name) => [name, groupOf(name, row[`by_${name}`])] as const);
      return Json.as(Json.of({ ...Object.fromEntries(group), ...toFigures(row) }));
    });
  }

  async inDoubt(
    partition: Partition,
    { userId }: { readonly userId?: UserId },
    request: PageRequest,
  ): Promise<Page<CallInDoubt>> {
    const { size, after } = Page.request(request);
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_spend_call")
        .selectAll()
        .where("tenant_id", "=", tenant)
        .where("state", "=", sql.lit("in-doubt"))
        .where((eb) => isBehindCursor(eb, { at: "at", id: "attempt", place: after }))
        .$if(userId !== undefined, (query) => query.where("user_id", "=", userId ?? ""))
        .orderBy("at", "desc")
        .orderBy("attempt", "desc")
        .limit(size + 1)
        .execute(),
    );
    const calls = rows.map((row): CallInDoubt => {
      const { tree_id: treeId, user_id: user } = row;
      return Json.as(Json.of({ ...toCall(row), treeId, userId: toUser(user) }));
    });
    return Page.of(calls, size, (call) => [call.at, call.attempt]);
  }

  async compact(partition: Partition, before: number): Promise<number> {
    return this.#access.write(partition, async (db, tenant) => {
      const quiet = sql<{ tree_id: string }>`update reeve_spend_tree set rolled_seq = seq
        where tenant_id = ${tenant} and tree_id in (select tree_id from reeve_spend_tree where tenant_id = ${tenant}
          and unsettled = 0 and rolled_seq < seq and last_hour < ${before} order by last_hour, tree_id
          limit ${Spend.maxCompacted})
        and unsettled = 0 and rolled_seq < seq and last_hour < ${before} returning tree_id`;
      const trees = (await quiet.execute(db)).rows.map(({ tree_id: tree }) => tree);
      for (const some of batches(trees)) {
        const rows = sql`tenant_id = ${tenant} and tree_id in (${sql.join(some)})`;
        await addUpRows(db, rows, { keepsUser: true });
      }
      return trees.length;
    });
  }
}
