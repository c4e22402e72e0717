import { sql, type Kysely, type Selectable } from "kysely";
import type { ClaimRequest } from "#kernel";
import type { Tables } from "./tables.ts";

/*
 * Finds the deliveries that may be sent. Some receiver may not answer for days, so the work must not grow with the number of
 * deliveries that wait: each statement follows an index to a few rows of each webhook.
 */

/** A delivery of a webhook, as it is stored. */
export type DeliveryRow = Selectable<Tables["reeve_webhook_delivery"]>;

/** A webhook of a tenant. `owner`: the tenant. */
type Hook = Pick<DeliveryRow, "owner" | "webhook_id">;

type FindOptions = Omit<ClaimRequest, "lease" | "until">;

/** Number of webhooks whose deliveries one statement finds. */
const hooksPerStatement = 50;

/**
 * Finds the first pending delivery of each webhook and tree that is due and free, a few of each webhook and each tenant. The
 * webhooks of a tenant take turns. Leased deliveries count towards the limits.
 */
export async function findDue(
  db: Kysely<Tables>,
  tenant: string,
  options: FindOptions,
): Promise<readonly DeliveryRow[]> {
  const leased = await findLeased(db, tenant, options.now);
  const leasedByHook = countBy(leased, nameOf);
  const leasedByOwner = countBy(leased, ({ owner }) => owner);
  const hooks = (await listHooks(db, tenant)).filter(
    (hook) =>
      (leasedByHook.get(nameOf(hook)) ?? 0) < options.perWebhook &&
      (leasedByOwner.get(hook.owner) ?? 0) < options.perTenant,
  );
  const places = new Map(leasedByHook);
  const turns = new Map<string, { readonly row: DeliveryRow; readonly place: number }[]>();
  for (let from = 0; from < hooks.length; from += hooksPerStatement) {
    for (const row of await findHeads(db, tenant, hooks.slice(from, from + hooksPerStatement), options)) {
      const place = (places.get(nameOf(row)) ?? 0) + 1;
      places.set(nameOf(row), place);
      if (place > options.perWebhook) continue;
      const own = turns.get(row.owner) ?? [];
      own.push({ row, place });
      turns.set(row.owner, own);
    }
  }
  return [...turns]
    .flatMap(([owner, own]) => {
      const taken = leasedByOwner.get(owner) ?? 0;
      const inTurn = own.toSorted((a, b) => a.place - b.place || a.row.next_at - b.row.next_at);
      return inTurn
        .slice(0, options.perTenant - taken)
        .map(({ row }, index) => ({ row, turn: taken + index }));
    })
    .toSorted((a, b) => a.turn - b.turn || a.row.next_at - b.row.next_at)
    .slice(0, options.limit)
    .map(({ row }) => row);
}

/** Owners and ids contain no spaces, so no two webhooks share a name. */
const nameOf = ({ owner, webhook_id }: Hook): string => `${owner} ${webhook_id}`;

function countBy(hooks: readonly Hook[], toName: (hook: Hook) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const hook of hooks) counts.set(toName(hook), (counts.get(toName(hook)) ?? 0) + 1);
  return counts;
}

/** Returns the webhook of every leased delivery. */
function findLeased(db: Kysely<Tables>, tenant: string, now: number): Promise<readonly Hook[]> {
  return db
    .selectFrom("reeve_webhook_delivery")
    .select(["owner", "webhook_id"])
    .where("tenant_id", "=", tenant)
    .where("leased_until", ">", now)
    .where("status", "=", "pending")
    .where("next_at", "<=", now)
    .execute();
}

/** Lists the webhooks with deliveries. Goes from each to the next one, past all deliveries between them. */
async function listHooks(db: Kysely<Tables>, tenant: string): Promise<readonly Hook[]> {
  const of = sql`from reeve_webhook_delivery due where due.tenant_id = ${tenant}`;
  const firstOwner = sql`(select min(due.owner) ${of})`;
  const nextOwner = sql`(select min(due.owner) ${of} and due.owner > hooks.owner)`;
  const firstIdOf = (owner: typeof firstOwner) =>
    sql`(select min(due.webhook_id) ${of} and due.owner = ${owner})`;
  const nextId = sql`(select min(due.webhook_id) ${of} and due.owner = hooks.owner
    and due.webhook_id > hooks.webhook_id)`;
  const { rows } = await sql<Hook>`with recursive hooks (owner, webhook_id) as (
    select ${firstOwner}, ${firstIdOf(firstOwner)}
    union all
    select case when ${nextId} is null then ${nextOwner} else hooks.owner end,
      coalesce(${nextId}, ${firstIdOf(nextOwner)})
    from hooks where hooks.owner is not null)
    select owner, webhook_id from hooks where owner is not null`.execute(db);
  return rows;
}

/** Returns the first deliveries of these webhooks that are due and free, in the order of their next tries. */
async function findHeads(
  db: Kysely<Tables>,
  tenant: string,
  hooks: readonly Hook[],
  { now, perWebhook }: FindOptions,
): Promise<readonly DeliveryRow[]> {
  const headsOf = ({ owner, webhook_id: hook }: Hook) => sql`select * from (
    select due.* from reeve_webhook_delivery due
    where due.tenant_id = ${tenant} and due.owner = ${owner} and due.webhook_id = ${hook}
      and due.status = 'pending' and due.next_at <= ${now} and due.leased_until <= ${now}
      and not exists (select 1 from reeve_webhook_delivery earlier
        where earlier.tenant_id = due.tenant_id and earlier.owner = due.owner
          and earlier.webhook_id = due.webhook_id and earlier.tree_id = due.tree_id
          and earlier.seq < due.seq and earlier.status = 'pending')
    order by due.next_at limit ${perWebhook}) heads`;
  const all = sql.join(hooks.map(headsOf), sql` union all `);
  return (await sql<DeliveryRow>`select * from (${all}) found order by next_at`.execute(db)).rows;
}
