import { IdConflictError, Json, RunId, type Engine, type ObjectAddress, type Store } from "#kernel";
import {
  callTree,
  sessionAddress,
  treeAt,
  withProtocol,
  type InvokeArgument,
  type OpenArgument,
  type ReplyOf,
} from "#tree";
import type { StartOptions } from "./start-options.ts";

/** The engine that opens trees, and the store of their records. */
interface OpenDeps {
  readonly engine: Engine;
  readonly store?: Store | undefined;
}

/** Opens a tree. In a named conversation, trees take turns. @throws IdConflictError, SessionBusyError */
export async function openTree(
  deps: OpenDeps,
  { tree, open }: { readonly tree: ObjectAddress; readonly open: OpenArgument },
  options: StartOptions,
): Promise<ReplyOf<"open">> {
  const { engine } = deps;
  const { session, onBusy = "refuse", tenant, user } = options;
  if (options.id !== undefined) await checkStored(deps, tree);
  if (session === undefined)
    return callTree((method, given) => engine.call(tree, method, given), "open", open);
  const turn: InvokeArgument = { tree, open, onBusy };
  return Json.as(await engine.call(sessionAddress(session, { tenant, user }), "invoke", withProtocol(turn)));
}

/**
 * Refuses the id of a tree of another process. An engine that is not durable knows the trees of its own process only,
 * and would run that tree again under the same events and steps.
 */
async function checkStored({ engine, store }: OpenDeps, address: ObjectAddress): Promise<void> {
  if (engine.durable || !store?.durable) return;
  const { partition, tree } = treeAt(address);
  const [known] = await store.runs.tree(partition, tree);
  if (!known) return;
  // The store first: of a tree that this process opens meanwhile, the engine knows before the store.
  const asked = { run: RunId.root(tree) };
  const status = await callTree((method, given) => engine.call(address, method, given), "status", asked);
  if (status === null) throw new IdConflictError({ id: tree, isOfOtherProcess: true });
}
