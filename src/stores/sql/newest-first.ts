import { type Expression, type ExpressionBuilder, type SqlBool, sql } from "kysely";
import type { PageCursor } from "#kernel";

/** Selects the rows after a cursor in a list that is newest first. */
export function isBehindCursor<DB, TB extends keyof DB>(
  eb: ExpressionBuilder<DB, TB>,
  { at, id, place }: { readonly at: string; readonly id: string; readonly place: PageCursor | null },
): Expression<SqlBool> {
  if (place === null) return eb.lit(true);
  return sql<SqlBool>`(${sql.ref(at)}, ${sql.ref(id)}) < (${place[0]}, ${place[1]})`;
}
