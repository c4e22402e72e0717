import { MemoryItem, MemoryOwner, type SessionKey, type UserId } from "#kernel";
import type { ExpressionBuilder, Kysely, SqlBool, Expression } from "kysely";
import type { Tables } from "./tables.ts";

/** Tables whose rows belong to the owner of a memory item. */
export const memoryTables = [
  "reeve_memory_fact",
  "reeve_memory_block",
  "reeve_memory_term",
  "reeve_memory_vector",
  "reeve_memory_write",
] as const;

/** The columns that every row of an owner has. */
export interface OwnerColumns {
  readonly tenant_id: string;
  readonly owner: string;
}

export const ownerColumns = (tenant: string, owner: MemoryOwner): OwnerColumns => ({
  tenant_id: tenant,
  owner: MemoryOwner.key(owner),
});

/** Texts compare byte by byte, and the byte after a space is `!`. */
const toPrefixEnd = (prefix: string): string => `${prefix.slice(0, -1)}!`;

/** Whether a row belongs to a user or to one of the user's sessions. */
export const belongsTo =
  (tenant: string, user: UserId | null) =>
  (
    eb: ExpressionBuilder<Pick<Tables, (typeof memoryTables)[number]>, (typeof memoryTables)[number]>,
  ): Expression<SqlBool> => {
    const sessions = MemoryOwner.sessionsPrefix(user);
    return eb.and([
      eb("tenant_id", "=", tenant),
      eb.or([
        eb("owner", "=", MemoryOwner.key(MemoryOwner.user(user))),
        eb.and([eb("owner", ">=", sessions), eb("owner", "<", toPrefixEnd(sessions))]),
      ]),
    ]);
  };

/** Removes all that a user and the user's sessions own. */
export async function eraseUserMemory(
  db: Kysely<Tables>,
  tenant: string,
  user: UserId | null,
): Promise<void> {
  for (const table of memoryTables) await db.deleteFrom(table).where(belongsTo(tenant, user)).execute();
}

/** Removes all that a session owns, and its episodes. */
export async function eraseSessionMemory(
  db: Kysely<Tables>,
  tenant: string,
  session: SessionKey,
  /** Default: all of them. */
  tables: readonly (typeof memoryTables)[number][] = memoryTables,
): Promise<void> {
  const own = ownerColumns(tenant, MemoryOwner.session(session));
  for (const table of tables)
    await db
      .deleteFrom(table)
      .where((eb) => eb.and({ ...own }))
      .execute();
  const prefix = MemoryItem.episodesPrefix(session.id);
  const ofUser = ownerColumns(tenant, MemoryOwner.user(session.userId));
  for (const table of ["reeve_memory_term", "reeve_memory_vector"] as const) {
    if (!tables.includes(table)) continue;
    await db
      .deleteFrom(table)
      .where((eb) => eb.and({ ...ofUser }))
      .where("item", ">=", prefix)
      .where("item", "<", toPrefixEnd(prefix))
      .execute();
  }
}
