import { Spend, type SpendFigures, type SpendQuery, type SpendRow, type UserId } from "#kernel";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { batches } from "./access.ts";
import { figureColumns, sums } from "./spend-rows.ts";
import type { Tables } from "./tables.ts";

/*
 * Sums of all trees, which grow with time, agents and models, never with trees. They change in the transaction that writes
 * the rows of a tree, by the difference to its rows before, so they hold what those rows add up to.
 */

type Kind = "hour" | "day" | "user";

/** The key of a sum, in the order of its columns. */
type SumKey = readonly [kind: Kind, hour: number, user: string, agentType: string, model: string];

const keyColumns = ["tenant_id", "kind", "hour", "user_id", "agent_type", "model"] as const;

const keysOf = ({ hour, agentType, model }: SpendRow, user: string): readonly SumKey[] => [
  ["hour", hour, "", agentType, model],
  ["day", Spend.dayStart(hour), "", agentType, model],
  ["user", Spend.dayStart(hour), user, "", ""],
];

const added: RawBuilder<unknown> = sql.join(
  figureColumns.map((name) => {
    const column = sql.ref(name);
    return sql`${column} = reeve_spend_sum.${column} + excluded.${column}`;
  }),
);

const columnsOf = (names: readonly string[]): RawBuilder<unknown> =>
  sql.join(names.map((name) => sql.ref(name)));

/** Adds the changes of a tree. All writers lock sums in the order of their keys, so that none waits for another in a circle. */
export async function addToSums(
  db: Kysely<Tables>,
  { tenant, user }: { readonly tenant: string; readonly user: string },
  changes: readonly SpendRow[],
): Promise<void> {
  const found = new Map<string, { readonly key: SumKey; readonly figures: SpendFigures }>();
  for (const row of changes)
    for (const key of keysOf(row, user)) {
      const name = JSON.stringify(key);
      found.set(name, { key, figures: Spend.add(found.get(name)?.figures ?? Spend.none, row) });
    }
  const sorted = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  for (const some of batches(sorted))
    await sql`insert into reeve_spend_sum (${columnsOf([...keyColumns, ...figureColumns])})
      values ${sql.join(some.map(({ key, figures }) => sql`(${sql.join([tenant, ...key, ...Spend.figureNames.map((name) => figures[name])])})`))}
      on conflict (${columnsOf(keyColumns)}) do update set ${added}`.execute(db);
}

/** Keeps the money of a user under no user. */
export async function eraseUserSums(db: Kysely<Tables>, tenant: string, user: UserId): Promise<void> {
  const own = sql`tenant_id = ${tenant} and kind = 'user' and user_id = ${user}`;
  await sql`insert into reeve_spend_sum (${columnsOf([...keyColumns, ...figureColumns])})
    select tenant_id, kind, hour, '', '', '', ${sums} from reeve_spend_sum where ${own}
    group by tenant_id, kind, hour order by hour
    on conflict (${columnsOf(keyColumns)}) do update set ${added}`.execute(db);
  await sql`delete from reeve_spend_sum where ${own}`.execute(db);
}

interface Part {
  readonly kind: Kind;
  readonly from: number;
  readonly to: number;
}

/** Returns the sums that answer a query; null: only the rows of trees do. */
function partsOf({ from, to, by, agentType, model, userId }: SpendQuery): readonly Part[] | null {
  const isByAgent =
    by.includes("agent") || by.includes("model") || agentType !== undefined || model !== undefined;
  const [firstDay, lastDay] = [Spend.dayStart(from + 23), Spend.dayStart(to)];
  const isInDays = !by.includes("hour") && firstDay <= lastDay;
  if (by.includes("tree") || userId !== undefined) return null;
  if (by.includes("user"))
    return isByAgent || !isInDays || firstDay !== from || lastDay !== to
      ? null
      : [{ kind: "user", from, to }];
  if (!isInDays) return [{ kind: "hour", from, to }];
  const parts: readonly Part[] = [
    { kind: "hour", from, to: firstDay },
    { kind: "day", from: firstDay, to: lastDay },
    { kind: "hour", from: lastDay, to },
  ];
  return parts.filter((part) => part.from < part.to);
}

/** Whether sums answer a query, so that its rows add up to the sums of the same query without its users. */
export const hasSums = (query: SpendQuery): boolean => partsOf(query) !== null;

/** Returns the rows that a query adds up: sums where they answer it, otherwise the rows of trees. */
export function rowsFor(query: SpendQuery, tenant: string): RawBuilder<unknown> {
  const parts = partsOf(query);
  const range = ({ from, to }: { readonly from: number; readonly to: number }): RawBuilder<unknown> =>
    sql`tenant_id = ${tenant} and hour >= ${from} and hour < ${to}`;
  if (parts === null) return sql`reeve_spend where ${range(query)}`;
  const selects = parts.map(
    (part) => sql`select * from reeve_spend_sum where kind = ${sql.lit(part.kind)} and ${range(part)}`,
  );
  const none = sql`select * from reeve_spend_sum where false`;
  return sql`(${selects.length === 0 ? none : sql.join(selects, sql` union all `)}) as sums where true`;
}
