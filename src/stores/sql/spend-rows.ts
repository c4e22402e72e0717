import {
  Json,
  type CallInDoubt,
  type SpendCall,
  type SpendDimension,
  type SpendFigures,
  type SpendRow,
  type UserId,
} from "#kernel";
import { type Kysely, type RawBuilder, type Selectable, sql } from "kysely";
import type { Tables } from "./tables.ts";

type Row = Selectable<Tables["reeve_spend"]>;
/** The tree of a row, and its user. */
type TreeKey = Pick<Row, "tenant_id" | "tree_id" | "user_id">;
type CallRow = Selectable<Tables["reeve_spend_call"]>;

/** The columns of figures, in a row or in a sum. */
export type FigureRow = Omit<Row, "tenant_id" | "hour" | "tree_id" | "user_id" | "agent_type" | "model">;

/** In the order of `Spend.figureNames`. */
export const figureColumns = [
  "calls",
  "input",
  "output",
  "cached",
  "settled",
  "in_doubt",
  "runs",
  "stopped",
  "denied",
] as const satisfies readonly (keyof FigureRow)[];

const keyColumns = ["tenant_id", "hour", "tree_id", "user_id", "agent_type", "model"] as const;

/** Selects the sum of each figure. */
export const sums: RawBuilder<unknown> = sql.join(
  figureColumns.map((name) => sql`cast(sum(${sql.ref(name)}) as bigint) as ${sql.ref(name)}`),
);

/**
 * Merges rows into rows by day without a tree. Sums remain the same. The heads of the trees are locked first, so that
 * no row is moved twice.
 */
export async function addUpRows(
  db: Kysely<Tables>,
  rows: RawBuilder<unknown>,
  { keepsUser }: { readonly keepsUser: boolean },
): Promise<void> {
  const columns = sql.join([...keyColumns, ...figureColumns].map((name) => sql.ref(name)));
  const added = sql.join(
    figureColumns.map((name) => {
      const column = sql.ref(name);
      return sql`${column} = reeve_spend.${column} + excluded.${column}`;
    }),
  );
  await sql`insert into reeve_spend (${columns})
    select tenant_id, hour - hour % 24, '', ${keepsUser ? sql`user_id` : sql`''`}, agent_type, model, ${sums}
    from reeve_spend where ${rows}
    group by tenant_id, hour - hour % 24, ${keepsUser ? sql`user_id, ` : sql``}agent_type, model
    on conflict (${sql.join(keyColumns.map((name) => sql.ref(name)))}) do update set ${added}`.execute(db);
  await sql`delete from reeve_spend where ${rows}`.execute(db);
}

/** Keeps the money of a user's trees in the sums of the tenant, under no user and no tree. */
export async function eraseUserSpend(db: Kysely<Tables>, tenant: string, user: UserId | null): Promise<void> {
  const own = { tenant_id: tenant, user_id: user ?? "" };
  await db
    .updateTable("reeve_spend_tree")
    .set((eb) => ({ user_id: "", rolled_seq: eb.ref("seq"), unsettled: 0 }))
    .where((eb) => eb.and(own))
    .execute();
  await db
    .deleteFrom("reeve_spend_call")
    .where((eb) => eb.and(own))
    .execute();
  // Rows without user and tree are the target of the merge.
  const rows = sql`tenant_id = ${tenant} and user_id = ${own.user_id} and (user_id <> '' or tree_id <> '')`;
  await addUpRows(db, rows, { keepsUser: false });
}

/** Writes absolute figures of a tree. */
export async function replaceRows(
  db: Kysely<Tables>,
  own: TreeKey,
  rows: readonly SpendRow[],
): Promise<void> {
  await db
    .insertInto("reeve_spend")
    .values(
      rows.map((row) => ({
        ...own,
        hour: row.hour,
        agent_type: row.agentType,
        model: row.model,
        calls: row.calls,
        input: row.inputTokens,
        output: row.outputTokens,
        cached: row.cachedTokens,
        settled: row.settledMicros,
        in_doubt: row.inDoubtMicros,
        runs: row.runs,
        stopped: row.stopped,
        denied: row.denied,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns([...keyColumns]).doUpdateSet((eb) => ({
        calls: eb.ref("excluded.calls"),
        input: eb.ref("excluded.input"),
        output: eb.ref("excluded.output"),
        cached: eb.ref("excluded.cached"),
        settled: eb.ref("excluded.settled"),
        in_doubt: eb.ref("excluded.in_doubt"),
        runs: eb.ref("excluded.runs"),
        stopped: eb.ref("excluded.stopped"),
        denied: eb.ref("excluded.denied"),
      })),
    )
    .execute();
}

/** An absent user is the empty text. */
export const toUser = (user: string): UserId | null => (user === "" ? null : Json.as<UserId>(user));

/** The value of a group. An absent user, and trees that were added up, are the empty text. */
export const groupOf = (name: SpendDimension, value: Json): Json =>
  value === "" && (name === "user" || name === "tree") ? null : value;

export const toFigures = (row: FigureRow): SpendFigures => ({
  calls: row.calls,
  inputTokens: row.input,
  outputTokens: row.output,
  cachedTokens: row.cached,
  settledMicros: row.settled,
  inDoubtMicros: row.in_doubt,
  runs: row.runs,
  stopped: row.stopped,
  denied: row.denied,
});

export const toRow = (row: Row): SpendRow => ({
  hour: row.hour,
  agentType: row.agent_type,
  model: row.model,
  ...toFigures(row),
});

/** The order of the rows of a tree. */
export const byKey = (a: SpendRow, b: SpendRow): number =>
  a.hour - b.hour || compareText(a.agentType, b.agentType) || compareText(a.model, b.model);

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

export const toCall = (row: CallRow): Omit<CallInDoubt, "treeId" | "userId"> =>
  Json.as(
    Json.of({
      attempt: row.attempt,
      runId: row.run_id,
      stepId: row.step_id,
      agentType: row.agent_type,
      model: row.model,
      at: row.at,
      tokens: row.tokens,
      costMicros: row.cost,
    }),
  );

/** Returns the row of a call. */
export const toCallRow = (own: TreeKey, call: SpendCall): CallRow => ({
  ...own,
  attempt: call.attempt,
  run_id: call.runId,
  step_id: call.stepId,
  agent_type: call.agentType,
  model: call.model,
  at: call.at,
  tokens: call.tokens,
  cost: call.costMicros,
  state: call.state,
});
