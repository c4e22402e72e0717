import type { SpendDimension, SpendQuery } from "#kernel";
import { type RawBuilder, sql } from "kysely";
import { type FigureRow, figureColumns, sums } from "./spend-rows.ts";
import { hasSums, rowsFor } from "./spend-sums.ts";

/** The figures of a group, and the value of each of its dimensions. */
type GroupRow = FigureRow & Readonly<Record<`by_${SpendDimension}`, never>>;

const dimensionColumns: Readonly<Record<SpendDimension, RawBuilder<unknown>>> = {
  day: sql`hour / 24`,
  hour: sql`hour`,
  agent: sql`agent_type`,
  model: sql`model`,
  user: sql`user_id`,
  tree: sql`tree_id`,
};

const cost = sql`sum(settled) + sum(in_doubt)`;

/** Returns the groups of a query, highest cost first. */
export function selectGroups(query: SpendQuery, tenant: string): RawBuilder<GroupRow> {
  const { topUsers, ...rest } = query;
  if (topUsers === undefined || !query.by.includes("user"))
    return groupRows(query, sql`${matchingRows(rest, tenant)}${limitGroups(rest, tenant)}`);
  const top = sql`with top as (select user_id from ${matchingRows(rest, tenant)} group by user_id
    order by ${cost} desc, user_id limit ${topUsers})`;
  return hasSums(query) ? subtractTop(query, tenant, top) : mergeOthers(query, tenant, top);
}

/** Returns the rows of a query: a table and the conditions on it. */
const matchingRows = (query: SpendQuery, tenant: string): RawBuilder<unknown> =>
  sql.join(
    [
      rowsFor(query, tenant),
      ...(query.agentType === undefined ? [] : [sql`agent_type = ${query.agentType}`]),
      ...(query.model === undefined ? [] : [sql`model = ${query.model}`]),
      ...(query.userId === undefined ? [] : [sql`user_id = ${query.userId ?? ""}`]),
    ],
    sql` and `,
  );

/** Limits the rows to the most expensive users or trees: ranking them by one sum is cheaper than nine sums of each. */
function limitGroups(query: SpendQuery, tenant: string): RawBuilder<unknown> {
  const [name] = query.by;
  if (query.by.length !== 1 || (name !== "user" && name !== "tree")) return sql``;
  const column = dimensionColumns[name];
  return sql` and ${column} in (select ${column} from ${matchingRows(query, tenant)} group by ${column}
    order by ${cost} desc, ${column} limit ${query.limit})`;
}

/**
 * Subtracts the most expensive users from the sums over all users, which gives the group of all others. It adds up a few rows
 * for each day instead of one for each day and user.
 */
function subtractTop(query: SpendQuery, tenant: string, top: RawBuilder<unknown>): RawBuilder<GroupRow> {
  const columns = sql.join(figureColumns.map((name) => sql.ref(name)));
  const negated = sql.join(figureColumns.map((name) => sql`- ${sql.ref(name)}`));
  const ofAll = { ...query, by: query.by.filter((name) => name !== "user") };
  const nonzero = sql.join(
    figureColumns.map((name) => sql`sum(${sql.ref(name)}) <> 0`),
    sql` or `,
  );
  return sql`${top},
    named as (select hour, user_id, ${columns} from ${matchingRows(query, tenant)}
      and user_id in (select user_id from top)),
    signed as (select hour, user_id, ${columns} from named
      union all select hour, null, ${negated} from named
      union all select hour, null, ${columns} from ${matchingRows(ofAll, tenant)})
    ${groupRows(query, sql`signed`, { having: sql`count(user_id) > 0 or ${nonzero}` })}`;
}

/** Returns a group without a user for all users other than the most expensive ones. */
const mergeOthers = (query: SpendQuery, tenant: string, top: RawBuilder<unknown>): RawBuilder<GroupRow> =>
  sql`${top} ${groupRows(query, matchingRows(query, tenant), {
    user: sql`case when user_id in (select user_id from top) then user_id end`,
  })}`;

/** Adds up rows by the dimensions of a query. `user`: the expression of a user. */
function groupRows(
  { by, limit }: SpendQuery,
  rows: RawBuilder<unknown>,
  { user, having = sql`count(*) > 0` }: { user?: RawBuilder<unknown>; having?: RawBuilder<unknown> } = {},
): RawBuilder<GroupRow> {
  const columns = by.map((name) => {
    const column = name === "user" && user ? user : dimensionColumns[name];
    return sql`${column} as ${sql.ref(`by_${name}`)}`;
  });
  const groups = sql.join(by.map((name) => sql.ref(`by_${name}`)));
  return sql`select ${sql.join([...columns, sums])} from ${rows}
    ${by.length > 0 ? sql`group by ${groups}` : sql``} having ${having}
    order by ${cost} desc ${by.length > 0 ? sql`, ${groups}` : sql``} limit ${limit}`;
}
