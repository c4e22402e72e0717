import { Json, NotFoundError, type ObjectContext, type ObjectDefinition, type ObjectMethod } from "#kernel";
import * as approvals from "./methods/approvals.ts";
import { begin } from "./methods/begin.ts";
import { blocked } from "./methods/blocked.ts";
import * as control from "./methods/control.ts";
import { erase } from "./methods/erasure.ts";
import * as inbox from "./methods/inbox-methods.ts";
import * as lifecycle from "./methods/lifecycle-methods.ts";
import * as messages from "./methods/messages.ts";
import { go, open } from "./methods/open.ts";
import * as projection from "./methods/projection.ts";
import * as queries from "./methods/queries.ts";
import { hireFor } from "./methods/spawn.ts";
import * as switches from "./methods/switches.ts";
import * as topics from "./methods/topics.ts";
import type { OpenArgument } from "./open-argument.ts";
import { withProtocol } from "./protocol-number.ts";
import type { ArgumentOf, ReplyOf, TreeMethod } from "./protocol.ts";
import { perform } from "./run-lifecycle.ts";
import { events } from "./state/events.ts";
import { liveKeys } from "./state/live-runs.ts";
import type { TreeHost } from "./state/records.ts";
import { finishedKey, lastingParts } from "./state/tree-record.ts";
import { wakeSilent } from "./state/silent-runs.ts";
import { TreeWork, type Occasion } from "./state/tree-work.ts";
import { answerRun, noteUntold } from "./state/untold.ts";
import { recall } from "./tenant/lease.ts";
import { decideWaiting } from "./waiting-calls.ts";

/*
 * The tree object: the single writer of one tree. It holds money, slots, inboxes, approvals and the order of events.
 *
 * Neighbours: the engine calls its methods, one at a time for each tree. Runs call them through the driver, users
 * through `RunHandle`. `methods/` has one file for each group of methods, `state/` the records they read and write,
 * `tenant/` the budgets that several trees share. The ledger decides about money and slots; this object carries out its
 * decisions.
 *
 * 1. A method is synchronous. It reads and writes through `TreeWork`, and nothing is written before it has returned. So
 *    a method that throws changes nothing.
 * 2. All effects of the ledger's decisions are carried out (`perform`) before the method returns.
 * 3. Every event of the tree gets its number here.
 * 4. Methods are idempotent: a repeated call with the same argument has no second effect.
 * 5. Reads and writes of a method do not grow with the number of ended runs.
 */

/** Decodes an argument that our own callers encoded. */
const typed =
  <Argument>(method: (object: ObjectContext, argument: Argument) => unknown): ObjectMethod =>
  (object, argument) =>
    Json.of(method(object, Json.as<Argument>(argument)));

/**
 * Returns the definition of trees. `host.agents` lists the agents that can be spawned on this worker, with their
 * defaults. It is read when needed, so that no journal depends on it.
 */
export function treeObject(host: TreeHost): ObjectDefinition {
  const on =
    <Argument extends Occasion>(
      method: (work: TreeWork, argument: Argument) => unknown,
      names: (argument: Argument) => readonly string[] = () => [],
    ): ObjectMethod =>
    (object, argument) => {
      const typedArgument = Json.as<Argument>(argument);
      return workOn(object, host, { argument: typedArgument, names: names(typedArgument) }, method);
    };
  const commands = {
    open: typed((object, argument: OpenArgument) => open(object, host, argument)),
    go: on(go),
    // A run's steps.
    begin: on(answerRun(begin)),
    rest: on(answerRun(inbox.rest)),
    take: on(answerRun(inbox.take)),
    yield: on(answerRun(inbox.yieldSlot)),
    yieldOverdue: on(inbox.yieldOverdue),
    // A run's life.
    hire: on(answerRun(hireFor)),
    continue: on(answerRun(lifecycle.continueRun)),
    crashed: on(lifecycle.crashed),
    blocked: on(blocked),
    end: on(answerRun(lifecycle.endRun), ({ run }) => liveKeys(run)),
    cancel: on(lifecycle.cancelRun, ({ run }) => liveKeys(run)),
    cancelOverdue: on(lifecycle.cancelOverdue),
    timerDue: on(lifecycle.timerDue),
    // Messages.
    send: on(messages.send),
    reply: on(answerRun(messages.reply)),
    unask: on(messages.unask),
    watch: on(messages.watch),
    signal: on(messages.signal),
    nudge: on(messages.nudge),
    emit: on(answerRun(topics.emit)),
    follow: on(topics.follow),
    // People.
    requestApproval: on(answerRun(approvals.request)),
    decideApproval: on(approvals.decide),
    pause: on(control.pause, ({ run }) => liveKeys(run)),
    resume: on(control.resume, ({ run }) => liveKeys(run)),
    holdDisabled: on(switches.holdDisabled, ({ run }) => liveKeys(run)),
    releaseDisabled: on(switches.releaseDisabled, ({ run }) => liveKeys(run)),
    reprioritize: on(control.reprioritize),
    topUp: on(control.topUp),
    reconcile: on(control.reconcile),
    // Tenant, store, erasure.
    recall: on(recall),
    drain: on(projection.drain),
    projected: on(projection.projected),
    erase: on(erase),
  } satisfies Record<Exclude<TreeMethod, keyof typeof queriesOfTree>, ObjectMethod>;
  return {
    type: "tree",
    methods: commands,
    queries: queriesOfTree,
    lasting: lastingParts,
    finishedMark: finishedKey,
    // A run that has ended cannot end again.
    repeatable: ["end"],
  };
}

/** The methods that only read. */
const queriesOfTree = {
  status: typed(queries.status),
  compacting: typed(queries.compacting),
  result: typed(queries.result),
  events: typed(events),
  unprojected: typed(projection.unprojected),
  retentions: typed(projection.retentions),
  approvals: typed(approvals.approvals),
  receipt: typed(queries.receipt),
  ledger: typed(queries.ledger),
  doubt: typed(queries.doubt),
} satisfies Partial<Record<TreeMethod, ObjectMethod>>;

/** Runs a method on an existing tree, and commits when it returns. Prefetches `names`. @throws NotFoundError */
function workOn<Argument extends Occasion>(
  object: ObjectContext,
  host: TreeHost,
  { argument, names }: { readonly argument: Argument; readonly names: readonly string[] },
  method: (work: TreeWork, argument: Argument) => unknown,
): Json {
  const work = TreeWork.on(object, host, argument, names);
  if (!work) throw new NotFoundError({ what: "tree", id: object.key });
  const reply = method(work, argument);
  perform(work);
  decideWaiting(work);
  noteUntold(work);
  wakeSilent(work);
  work.commit();
  return Json.of(reply);
}

/** Calls a method of a tree, with types. */
export async function callTree<Method extends TreeMethod>(
  call: (method: string, argument: Json) => Promise<Json>,
  method: Method,
  argument: ArgumentOf<Method>,
): Promise<ReplyOf<Method>> {
  return Json.as(await call(method, withProtocol(argument)));
}
