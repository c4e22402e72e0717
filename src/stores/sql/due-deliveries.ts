import { sql, type Kysely, type Selectable } from "kysely";
import type { ClaimRequest } from "#kernel";
import type { Tables } from "./tables.ts";

/** A delivery of a webhook, as it is stored. */
export type DeliveryRow = Selectable<Tables["reeve_webhook_delivery"]>;

/**
 * Finds the first pending delivery of each webhook and tree that is due and free, a few of each webhook and each tenant.
 * Leased rows come first where rows are numbered, because they count towards the limits.
 */
export function findDue(
  db: Kysely<Tables>,
  tenant: string,
  { now, limit, perWebhook, perTenant }: Omit<ClaimRequest, "lease" | "until">,
): Promise<readonly DeliveryRow[]> {
  const leasedFirst = sql<number>`case when due.leased_until > ${now} then 0 else 1 end`;
  return db
    .with("heads", (eb) =>
      eb
        .selectFrom("reeve_webhook_delivery as due")
        .selectAll("due")
        .select(
          sql<number>`row_number() over (partition by due.owner, due.webhook_id
            order by ${leasedFirst}, due.next_at)`.as("place"),
        )
        .where((due) => due.and({ "due.tenant_id": tenant, "due.status": "pending" }))
        .where("due.next_at", "<=", now)
        .where((due) =>
          due.not(
            due.exists(
              due
                .selectFrom("reeve_webhook_delivery as earlier")
                .select("earlier.seq")
                .whereRef("earlier.tenant_id", "=", "due.tenant_id")
                .whereRef("earlier.owner", "=", "due.owner")
                .whereRef("earlier.webhook_id", "=", "due.webhook_id")
                .whereRef("earlier.tree_id", "=", "due.tree_id")
                .whereRef("earlier.seq", "<", "due.seq")
                .where("earlier.status", "=", "pending"),
            ),
          ),
        ),
    )
    .with("turns", (eb) =>
      eb
        .selectFrom("heads as due")
        .selectAll("due")
        .select(
          sql<number>`row_number() over (partition by due.owner
            order by ${leasedFirst}, due.place, due.next_at)`.as("turn"),
        )
        .where("due.place", "<=", perWebhook),
    )
    .selectFrom("turns")
    .selectAll()
    .where("turn", "<=", perTenant)
    .where("leased_until", "<=", now)
    .orderBy("turn")
    .orderBy("next_at")
    .limit(limit)
    .execute();
}
