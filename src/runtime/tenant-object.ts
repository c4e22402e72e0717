import { Json, type Micros, type ObjectContext, type ObjectDefinition, type TreeId } from "#kernel";
import { TenantLedger, type TenantState } from "#ledger";
import type { TreeWork } from "./tree/tree-work.ts";

interface DrawArgument {
  readonly tree: TreeId;
  readonly tokens: number;
  readonly cost: Micros;
  readonly at: number;
}

/** Lends to a tree what its tenant has left. */
async function draw(object: ObjectContext, argument: Json): Promise<Json> {
  const state = Json.as<TenantState | null>(await object.get("tenant"));
  if (!state) return Json.of({ tokens: 0, cost: 0 });
  const decided = TenantLedger.draw(state, Json.as<DrawArgument>(argument));
  object.set("tenant", Json.of(decided.state));
  return Json.of(decided.decision);
}

/** Sets a tenant's limits; what was lent and spent stays. */
async function limit(object: ObjectContext, argument: Json): Promise<Json> {
  const limits = Json.as<{ readonly maxTokens: number | null; readonly maxCost: Micros | null }>(argument);
  const state = Json.as<TenantState | null>(await object.get("tenant"));
  object.set("tenant", Json.of(TenantLedger.limit(state, limits)));
  return null;
}

/** Takes back what a tree that is over did not use. */
async function giveBack(object: ObjectContext, argument: Json): Promise<Json> {
  const state = Json.as<TenantState | null>(await object.get("tenant"));
  if (!state) return null;
  object.set("tenant", Json.of(TenantLedger.giveBack(state, Json.as(argument)).state));
  return null;
}

/** What a tenant may spend in all its trees. Lends blocks, so that it is never asked for every call. */
export const tenantObject: ObjectDefinition = {
  type: "tenant",
  methods: { draw, limit, giveBack },
  queries: {},
};

/** Borrows from the tenant what a call of this tree needs. */
export async function drawBlock(
  work: TreeWork,
  need: { readonly tokens: number; readonly cost: Micros },
): Promise<{ readonly tokens: number; readonly cost: Micros }> {
  const tenant = { type: "tenant", key: work.tree.scope.tenantId ?? "-" };
  const argument = { tree: work.tree.treeId, tokens: need.tokens, cost: need.cost, at: work.now };
  return Json.as(await work.object.call(tenant, "draw", Json.of(argument)));
}
