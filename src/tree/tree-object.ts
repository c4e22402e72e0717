import { Json, NotFoundError, type ObjectContext, type ObjectDefinition, type ObjectMethod } from "#kernel";
import * as approvals from "./methods/approvals.ts";
import { beginCall } from "./methods/begin.ts";
import { applyBlockedPolicy } from "./methods/blocked.ts";
import * as control from "./methods/control.ts";
import { erase, eraseAll } from "./methods/erasure.ts";
import * as inbox from "./methods/inbox-methods.ts";
import * as lifecycle from "./methods/lifecycle-methods.ts";
import * as messages from "./methods/messages.ts";
import { startTurn, open } from "./methods/open.ts";
import * as projection from "./methods/projection.ts";
import * as queries from "./methods/queries.ts";
import { spawnFor } from "./methods/spawn.ts";
import * as switches from "./methods/switches.ts";
import * as topics from "./methods/topics.ts";
import type { OpenArgument } from "./open-argument.ts";
import { withProtocol } from "./protocol-number.ts";
import type { ArgumentOf, ReplyOf, TreeMethod } from "./protocol.ts";
import { performEffects } from "./run-lifecycle.ts";
import { events } from "./state/events.ts";
import { liveKeys } from "./state/live-runs.ts";
import type { TreeDeps } from "./state/records.ts";
import { finishedKey, lastingParts, storedTogether } from "./state/tree-record.ts";
import { wakeSilent } from "./state/silent-runs.ts";
import { TreeWork, type Occasion } from "./state/tree-work.ts";
import { answerRun, noteUndelivered } from "./state/undelivered.ts";
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
 * 2. All effects of the ledger's decisions are carried out (`performEffects`) before the method returns.
 * 3. Every event of the tree gets its number here.
 * 4. Methods are idempotent: a repeated call with the same argument has no second effect.
 * 5. Reads and writes of a method do not grow with the number of ended runs.
 */

/** Wraps a method whose argument comes from `callTree`, so its type is known. */
const decodeArgument =
  <Argument>(method: (object: ObjectContext, argument: Argument) => unknown): ObjectMethod =>
  (object, argument) =>
    Json.of(method(object, Json.as<Argument>(argument)));

/**
 * Returns the definition of trees. `deps.agents` lists the agents that can be spawned on this worker, with their
 * defaults. The list is read when it is needed, so that no journal depends on it.
 */
export function treeObject(deps: TreeDeps): ObjectDefinition {
  const on =
    <Argument extends Occasion>(
      method: (work: TreeWork, argument: Argument) => unknown,
      names: (argument: Argument) => readonly string[] = () => [],
    ): ObjectMethod =>
    (object, argument) => {
      const typedArgument = Json.as<Argument>(argument);
      return workOn(object, deps, { argument: typedArgument, names: names(typedArgument) }, method);
    };
  const commands = {
    open: decodeArgument((object, argument: OpenArgument) => open(object, deps, argument)),
    startTurn: on(startTurn),
    // A run's steps.
    begin: on(answerRun(beginCall)),
    wait: on(answerRun(inbox.waitForItems)),
    take: on(answerRun(inbox.takeItems)),
    yield: on(answerRun(inbox.yieldSlot)),
    yieldOverdue: on(inbox.yieldOverdue),
    // A run's life.
    spawn: on(answerRun(spawnFor)),
    continue: on(answerRun(lifecycle.continueRun)),
    crashed: on(lifecycle.countCrash),
    blocked: on(applyBlockedPolicy),
    end: on(answerRun(lifecycle.endRun), ({ run }) => liveKeys(run)),
    cancel: on(lifecycle.cancelRun, ({ run }) => liveKeys(run)),
    cancelOverdue: on(lifecycle.cancelOverdue),
    timerDue: on(lifecycle.timerDue),
    // Messages.
    send: on(messages.sendMessage),
    reply: on(answerRun(messages.reply)),
    abandonAsk: on(messages.abandonAsk),
    watch: on(messages.watchRun),
    signal: on(messages.signal),
    injectMessage: on(messages.injectMessage),
    emit: on(answerRun(topics.emit)),
    subscribe: on(topics.subscribeToTopic),
    // Decisions of people.
    requestApproval: on(answerRun(approvals.request)),
    decideApproval: on(approvals.decideApproval),
    pause: on(control.pauseTreeRun, ({ run }) => liveKeys(run)),
    resume: on(control.resumeTreeRun, ({ run }) => liveKeys(run)),
    holdDisabled: on(switches.holdDisabled, ({ run }) => liveKeys(run)),
    releaseDisabled: on(switches.releaseDisabled, ({ run }) => liveKeys(run)),
    reprioritize: on(control.reprioritizeTreeRun),
    topUp: on(control.topUpAccount),
    reconcile: on(control.reconcileDoubt),
    // Tenant, store, erasure.
    recall: on(recall),
    drain: on(projection.drain),
    projected: on(projection.noteProjected),
    eraseAll: on(eraseAll),
    erase: on(erase),
  } satisfies Record<Exclude<TreeMethod, keyof typeof queriesOfTree>, ObjectMethod>;
  return {
    type: "tree",
    methods: commands,
    queries: queriesOfTree,
    lasting: lastingParts,
    together: storedTogether,
    finishedMark: finishedKey,
    // A run that has ended cannot end again.
    repeatable: ["end"],
  };
}

/** The methods that only read. */
const queriesOfTree = {
  status: decodeArgument(queries.status),
  compacting: decodeArgument(queries.queryCompacting),
  result: decodeArgument(queries.result),
  events: decodeArgument(events),
  unprojected: decodeArgument(projection.listUnprojected),
  retentions: decodeArgument(projection.retentions),
  approvals: decodeArgument(approvals.approvals),
  receipt: decodeArgument(queries.receipt),
  ledger: decodeArgument(queries.ledger),
  doubt: decodeArgument(queries.doubt),
} satisfies Partial<Record<TreeMethod, ObjectMethod>>;

/** Runs a method on an existing tree, and commits when it returns. Prefetches `names`. @throws NotFoundError */
function workOn<Argument extends Occasion>(
  object: ObjectContext,
  deps: TreeDeps,
  { argument, names }: { readonly argument: Argument; readonly names: readonly string[] },
  method: (work: TreeWork, argument: Argument) => unknown,
): Json {
  const work = TreeWork.on(object, deps, argument, names);
  if (!work) throw new NotFoundError({ what: "tree", id: object.key });
  const reply = method(work, argument);
  performEffects(work);
  decideWaiting(work);
  noteUndelivered(work);
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
