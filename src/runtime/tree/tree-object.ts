import { Json, type ObjectContext, type ObjectDefinition, type ObjectMethod } from "#kernel";
import * as approvals from "./approvals.ts";
import * as asks from "./asks.ts";
import * as control from "./control.ts";
import * as gate from "./gate.ts";
import * as listing from "./listing.ts";
import * as post from "./post.ts";
import type { ArgumentOf, OpenArgument, ReplyOf, TreeMethod } from "./protocol.ts";
import type { TreeHost } from "./records.ts";
import { erase } from "./remains.ts";
import * as topics from "./topics.ts";
import type { Occasion, TreeWork } from "./tree-work.ts";

/** Decodes what our own callers encoded. */
const typed =
  <Argument>(method: (object: ObjectContext, argument: Argument) => unknown): ObjectMethod =>
  (object, argument) =>
    Json.of(method(object, Json.as<Argument>(argument)));

const queries = {
  status: typed(control.status),
  result: typed(control.result),
  events: typed(control.events),
  unprojected: typed(listing.unprojected),
  retentions: typed(listing.retentions),
  approvals: typed(approvals.approvals),
  receipt: typed(control.receipt),
  ledger: typed(control.ledger),
} satisfies Partial<Record<TreeMethod, ObjectMethod>>;

/**
 * The heart of a tree: money, headcount, inboxes and the order of events, behind one writer. `agents` is everybody who can
 * be hired where it executes, and on which terms: as they are now, so that no journal depends on them.
 */
export function treeObject(host: TreeHost): ObjectDefinition {
  const on =
    <Argument extends Occasion>(method: (work: TreeWork, argument: Argument) => unknown): ObjectMethod =>
    (object, argument) =>
      gate.onTree(object, host, Json.as<Argument>(argument), method);
  const methods = {
    open: typed((object, argument: OpenArgument) => gate.open(object, host, argument)),
    go: on(gate.go),
    begin: on(gate.begin),
    rest: on(gate.rest),
    take: on(gate.take),
    yield: on(gate.yieldSlot),
    hire: on(post.hireFor),
    send: on(post.send),
    reply: on(asks.reply),
    unask: on(asks.unask),
    watch: on(post.watch),
    emit: on(topics.emit),
    follow: on(topics.follow),
    signal: on(post.signal),
    nudge: on(post.nudge),
    cancel: on(gate.cancelRun),
    requestApproval: on(approvals.request),
    decideApproval: on(approvals.decide),
    pause: on(control.pause),
    resume: on(control.resume),
    reprioritize: on(control.reprioritize),
    topUp: on(control.topUp),
    reconcile: on(control.reconcile),
    crashed: on(gate.crashed),
    continue: on(gate.continueRun),
    end: on(gate.endRun),
    projected: on(listing.projected),
    erase: on(erase),
    yieldOverdue: on(gate.yieldOverdue),
  } satisfies Record<Exclude<TreeMethod, keyof typeof queries>, ObjectMethod>;
  return { type: "tree", methods, queries };
}

/** Calls a tree with types. */
export async function callTree<Method extends TreeMethod>(
  call: (method: string, argument: Json) => Promise<Json>,
  method: Method,
  argument: ArgumentOf<Method>,
): Promise<ReplyOf<Method>> {
  return Json.as(await call(method, Json.of(argument)));
}
