import { Json, type ObjectContext, type ObjectDefinition, type ObjectMethod } from "#kernel";
import * as asks from "./asks.ts";
import * as control from "./control.ts";
import * as gate from "./gate.ts";
import * as post from "./post.ts";
import type { ArgumentOf, ReplyOf, TreeMethod } from "./protocol.ts";
import * as topics from "./topics.ts";

/** Decodes what our own callers encoded. */
const typed =
  <Argument>(method: (object: ObjectContext, argument: Argument) => unknown): ObjectMethod =>
  (object, argument) =>
    Json.of(method(object, Json.as<Argument>(argument)));

const methods = {
  open: typed(gate.open),
  begin: typed(gate.onTree(gate.begin)),
  rest: typed(gate.onTree(gate.rest)),
  take: typed(gate.onTree(gate.take)),
  yield: typed(gate.onTree(gate.yieldSlot)),
  hire: typed(gate.onTree(post.hireFor)),
  send: typed(gate.onTree(post.send)),
  reply: typed(gate.onTree(asks.reply)),
  unask: typed(gate.onTree(asks.unask)),
  watch: typed(gate.onTree(post.watch)),
  emit: typed(gate.onTree(topics.emit)),
  follow: typed(gate.onTree(topics.follow)),
  signal: typed(gate.onTree(post.signal)),
  nudge: typed(gate.onTree(post.nudge)),
  cancel: typed(gate.onTree(gate.cancelRun)),
  pause: typed(gate.onTree(control.pause)),
  resume: typed(gate.onTree(control.resume)),
  reprioritize: typed(gate.onTree(control.reprioritize)),
  topUp: typed(gate.onTree(control.topUp)),
  reconcile: typed(gate.onTree(control.reconcile)),
  crashed: typed(gate.onTree(gate.crashed)),
  continue: typed(gate.onTree(gate.continueRun)),
  end: typed(gate.onTree(gate.endRun)),
  yieldOverdue: typed(gate.onTree(gate.yieldOverdue)),
} satisfies Partial<Record<TreeMethod, ObjectMethod>>;

const queries = {
  status: typed(control.status),
  result: typed(control.result),
  events: typed(control.events),
  receipt: typed(control.receipt),
  ledger: typed(control.ledger),
} satisfies Record<Exclude<TreeMethod, keyof typeof methods>, ObjectMethod>;

/** The heart of a tree: money, headcount, inboxes and the order of events, behind one writer. */
export const treeObject: ObjectDefinition = { type: "tree", methods, queries };

/** Calls a tree with types. */
export async function callTree<Method extends TreeMethod>(
  call: (method: string, argument: Json) => Promise<Json>,
  method: Method,
  argument: ArgumentOf<Method>,
): Promise<ReplyOf<Method>> {
  return Json.as(await call(method, Json.of(argument)));
}
