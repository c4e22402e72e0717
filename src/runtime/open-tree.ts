import { Json, type Engine, type ObjectAddress } from "#kernel";
import {
  callTree,
  sessionAddress,
  withProtocol,
  type InvokeArgument,
  type OpenArgument,
  type ReplyOf,
} from "#tree";
import type { StartOptions } from "./start-options.ts";

/** Opens a tree. In a named conversation, trees take turns. */
export async function openTree(
  engine: Engine,
  { tree, open }: { readonly tree: ObjectAddress; readonly open: OpenArgument },
  { session, onBusy = "refuse", tenant, user }: StartOptions,
): Promise<ReplyOf<"open">> {
  if (session === undefined)
    return callTree((method, given) => engine.call(tree, method, given), "open", open);
  const turn: InvokeArgument = { tree, open, onBusy };
  return Json.as(await engine.call(sessionAddress(session, { tenant, user }), "invoke", withProtocol(turn)));
}
