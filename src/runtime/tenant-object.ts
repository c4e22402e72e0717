import {
  Json,
  type Micros,
  type ObjectAddress,
  type ObjectContext,
  type ObjectDefinition,
  type TreeId,
} from "#kernel";
import { Ledger, TenantLedger, type TenantState } from "#ledger";
import type { TreeWork } from "./tree/tree-work.ts";

interface DrawArgument {
  readonly tree: TreeId;
  readonly tokens: number;
  readonly cost: Micros;
  readonly at: number;
}

/** Lends to a tree what its tenant has left. */
function draw(object: ObjectContext, argument: Json): Json {
  const state = Json.as<TenantState | null>(object.get("tenant"));
  if (!state) return Json.of({ tokens: 0, cost: 0 });
  const decided = TenantLedger.draw(state, Json.as<DrawArgument>(argument));
  object.set("tenant", Json.of(decided.state));
  return Json.of(decided.decision);
}

/** Sets a tenant's limits; what was lent and spent stays. */
function limit(object: ObjectContext, argument: Json): Json {
  const limits = Json.as<{ readonly maxTokens: number | null; readonly maxCost: Micros | null }>(argument);
  const state = Json.as<TenantState | null>(object.get("tenant"));
  object.set("tenant", Json.of(TenantLedger.limit(state, limits)));
  return null;
}

/** Takes back what a tree that is over did not use. */
function giveBack(object: ObjectContext, argument: Json): Json {
  const state = Json.as<TenantState | null>(object.get("tenant"));
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

const tenantOf = ({ tree }: TreeWork): ObjectAddress => ({ type: "tenant", key: tree.scope.tenantId ?? "-" });

/** Borrows from the tenant what a call of this tree needs. */
export function drawBlock(
  work: TreeWork,
  need: { readonly tokens: number; readonly cost: Micros },
): { readonly tokens: number; readonly cost: Micros } {
  const argument = { tree: work.tree.treeId, tokens: need.tokens, cost: need.cost, at: work.now };
  return Json.as(work.object.call(tenantOf(work), "draw", Json.of(argument)));
}

/** The tree is over: what it has borrowed and not used goes back, and the tenant learns what it has spent. */
export function returnBlock(work: TreeWork): void {
  if (!work.tree.ledger.block) return;
  const unused = work.decide(work.root, Ledger.giveBack);
  const spent = Ledger.spend(work.tree.ledger.account);
  const told = { spentTokens: spent.tokens, spentCost: spent.cost };
  const argument = { tree: work.tree.treeId, ...unused, ...told, at: work.now };
  work.object.call(tenantOf(work), "giveBack", Json.of(argument));
}
