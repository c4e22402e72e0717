import {
  IdConflictError,
  Json,
  NotFoundError,
  RunId,
  SpawnBudget,
  Supervision,
  type ObjectContext,
} from "#kernel";
import { Ledger, type Gate, type Slot } from "#ledger";
import { drawBlock } from "../tenant-object.ts";
import { launch, takeNews } from "./entrance.ts";
import { book, bookSettlement } from "./reports.ts";
import { newRun, start } from "./hire.ts";
import { cancel, end, perform, resumed, stopReasonOf } from "./life.ts";
import type { ArgumentOf, BeginArgument, FromRun, News, OpenArgument, ReplyOf } from "./protocol.ts";
import type { TreeHost, EndReport, TreeRecord } from "./records.ts";
import { TreeWork, type Occasion } from "./tree-work.ts";

/** Opens the tree and sends its root off. The same id with the same input is the same tree. */
export function open(object: ObjectContext, host: TreeHost, argument: OpenArgument): ReplyOf<"open"> {
  const existing = TreeWork.on(object, host, argument);
  if (existing) {
    if (existing.tree.inputHash !== argument.inputHash) throw new IdConflictError({ id: argument.treeId });
    return { existing: true };
  }
  const root = RunId.root(argument.treeId);
  const { treeId, scope, spawn, rootBudget, priority, at } = argument;
  const ledger = Ledger.open({ ...argument, root });
  const tree: TreeRecord = {
    treeId,
    status: "open",
    inputHash: argument.inputHash,
    scope,
    traceId: argument.traceId,
    caller: argument.caller,
    ledger: ledger.tree,
    clock: at,
    nextRun: 1,
    seq: 0,
    tail: [],
    prices: argument.prices,
    yieldTimeoutMs: argument.yieldTimeoutMs,
    maxRestarts: argument.maxRestarts,
    session: argument.session,
    waits: argument.waits,
    projection: { upTo: 0, asked: false },
    fleeting: false,
    erased: false,
  };
  const work = TreeWork.fresh(object, host, tree, ledger.slots);
  const supervision = Supervision.root(argument.agentId, {
    treeId,
    runId: root,
    sessionId: scope.sessionId,
    spawnBudget: SpawnBudget.of(spawn),
    executionBudget: rootBudget,
    retention: argument.retention,
    priority,
  });
  const more = { boot: [argument.boot], tools: null, rules: argument.rules, budget: rootBudget };
  const record = newRun(work, supervision, argument.version, more);
  // The tree's turns are the root's.
  work.put(root, { ...record, account: ledger.accounts[root] ?? record.account });
  if (!argument.waits) start(work, root);
  work.commit();
  return { existing: false };
}

/** The tree has its turn: its root starts, and its time runs from now. */
export function go(work: TreeWork): null {
  const slot = work.slot(work.root);
  if (!work.tree.waits || !slot) return null;
  work.change({ waits: false });
  const deadline = slot.deadline === null ? null : slot.deadline + work.now - slot.since;
  work.setSlot(work.root, { ...slot, since: work.now, deadline });
  start(work, work.root);
  return null;
}

/** The gate of every call that costs or acts. */
export function begin(work: TreeWork, argument: BeginArgument): ReplyOf<"begin"> {
  const { run } = argument;
  book(work, argument);
  for (const made of argument.previous) bookSettlement(work, run, made);
  // A call that got no answer is made again: what it was granted was told already.
  const isTold = work.run(run)?.account.attempts.some(({ id }) => id === argument.attempt) ?? false;
  let gate = ask(work, argument, false);
  if (gate.kind === "needs-block") {
    const lent = drawBlock(work, gate);
    work.decide(run, (state) => Ledger.lend(state, lent));
    gate = ask(work, argument, true);
  }
  if (!isTold) announce(work, argument, gate);
  if (gate.kind === "refused" && gate.why === "paused" && gate.reason !== null)
    work.put(run, { ...work.live(run), pausedFor: gate.reason });
  perform(work);
  return { gate, reported: work.run(run)?.reported ?? 0 };
}

function ask(work: TreeWork, argument: BeginArgument, blockIsFinal: boolean): Gate {
  const { run, step, attempt, epoch, rerun, ask: wish } = argument;
  const limit = wish?.inputTokens === null ? anyLimit(work, run) : null;
  if (limit) return { kind: "denied", ...limit, reason: "unbounded" };
  const bounded = wish && { ...wish, inputTokens: wish.inputTokens ?? 0 };
  const command = { run, step, attempt, epoch, ask: bounded, rerun, blockIsFinal, at: work.now };
  return work.decide(run, (state) => Ledger.begin(state, command));
}

/** A limit that a call of unknown size could break; null where nothing limits the run. */
function anyLimit(
  work: TreeWork,
  run: RunId,
): { readonly dimension: "tokens" | "cost"; readonly limit: number; readonly used: number } | null {
  const path = work.slot(run) ? Ledger.path(work.slots, run) : [];
  const runs = path.map((id) => work.run(id));
  for (const account of [work.tree.ledger.account, ...runs.map((known) => known?.account)]) {
    if (!account) continue;
    const { tokens, cost } = Ledger.spend(account);
    if (account.maxTokens !== null) return { dimension: "tokens", limit: account.maxTokens, used: tokens };
    if (account.maxCost !== null) return { dimension: "cost", limit: account.maxCost, used: cost };
  }
  return null;
}

function announce(work: TreeWork, argument: BeginArgument, gate: Gate): void {
  const { run, step, attempt, ask: wish, subject, callId = attempt } = argument;
  if (gate.kind === "denied") {
    const { dimension, limit, used } = gate;
    const place = `denied/${attempt}`;
    if (!work.hasTold(run, place))
      work.emit(run, "budget.denied", { dimension, limit, used }, { place, attempt });
  }
  if (gate.kind !== "granted") return;
  if (wish) {
    work.emit(run, "budget.reserved", gate.ceiling, { place: `reserved/${attempt}`, attempt });
    work.emit(run, "model.start", { model: subject, step }, { place: `model.start/${attempt}`, attempt });
  } else {
    work.emit(
      run,
      "tool.start",
      { tool: subject, callId, step },
      { place: `tool.start/${attempt}`, attempt },
    );
  }
}

/** A run wants to wait: it does, unless something has come meanwhile. */
export function rest(work: TreeWork, argument: ArgumentOf<"rest">): News {
  book(work, argument);
  const news = takeNews(work, argument.run);
  if (news.items.length === 0 && news.standing === "running") {
    work.decide(argument.run, (state) =>
      Ledger.wait(state, { run: argument.run, on: argument.on, at: work.now }),
    );
    perform(work);
  }
  return news;
}

/** A run goes on, if it still has its slot. */
export function take(work: TreeWork, argument: FromRun): News {
  const { run } = argument;
  book(work, argument);
  const wasParked = work.slot(run)?.phase === "parked";
  const { phase } = work.decide(run, (state) => Ledger.wake(state, { run, at: work.now }));
  if (wasParked && phase === "running") resumed(work, run);
  perform(work);
  return takeNews(work, run);
}

/** A run that was told to yield has nothing in flight any more. */
export function yieldSlot(work: TreeWork, argument: FromRun): News {
  book(work, argument);
  work.decide(argument.run, (state) => Ledger.yield(state, { run: argument.run, at: work.now }));
  perform(work);
  return takeNews(work, argument.run);
}

/** The run is over. */
export function endRun(work: TreeWork, argument: ArgumentOf<"end">): ReplyOf<"end"> {
  book(work, argument);
  const slot = work.slot(argument.run);
  if (!slot) return null;
  const result = end(work, argument.run, verdict(argument.end, slot, work.now));
  if (!result) return null;
  const { status, stopReason, usage, spend } = result;
  return { status, stopReason, usage, spend };
}

/** Whatever a run says of its end: once it was cancelled it ends cancelled, with what it has. */
function verdict(report: EndReport, slot: Slot, now: number): EndReport {
  const reason = report.status === "failed" ? whyStopped(slot, now) : slot.cancelled;
  if (reason === null || report.stopReason === "deadline") return report;
  const { output, labels, unread } = report;
  return { status: "cancelled", stopReason: stopReasonOf(reason), output, labels, unread };
}

/** Why a run may do nothing more; null if it may. */
function whyStopped({ cancelled, deadline }: Slot, now: number): string | null {
  return cancelled ?? (deadline !== null && now > deadline ? "deadline" : null);
}

/** The run goes on in a fresh execution; what it has not read goes with it. */
export function continueRun(work: TreeWork, argument: ArgumentOf<"continue">): null {
  book(work, argument);
  const run = work.live(argument.run);
  const items = [...argument.unread, ...run.inbox.items];
  const inbox = { ...run.inbox, items, woken: false };
  const continuation = run.continuation + 1;
  // A replayed run numbers its reports from 1 again: a fresh journal is a fresh count.
  launch(work, argument.run, { ...run, continuation, inbox, reported: 0 }, argument);
  return null;
}

/** Counts a crash, and says whether the run is started again. */
export function crashed(work: TreeWork, argument: ArgumentOf<"crashed">): ReplyOf<"crashed"> {
  const run = work.run(argument.run);
  const slot = work.slot(argument.run);
  if (!run || !slot) return { again: false, cancelled: "ended" };
  const cancelled = whyStopped(slot, work.now);
  if (argument.why === "version") return { again: cancelled === null, cancelled };
  const isNew = argument.epoch !== run.crashedIn;
  const crashes = run.crashes + (isNew ? 1 : 0);
  work.put(argument.run, { ...run, crashes, crashedIn: argument.epoch });
  return { again: cancelled === null && crashes <= work.tree.maxRestarts, cancelled };
}

/** A run had its time to yield: its call is aborted. */
export function yieldOverdue(work: TreeWork, { run }: ArgumentOf<"yieldOverdue">): null {
  if (work.slot(run)?.phase === "yielding") work.push(run, { kind: "abortCall" });
  return null;
}

/** Stops a run and everything below it. */
export function cancelRun(work: TreeWork, { run, reason }: ArgumentOf<"cancel">): number | null {
  return work.slot(run) ? cancel(work, run, reason) : null;
}

/** Lets a method work on an existing tree, and commits when it returns. @throws NotFoundError */
export function onTree<Argument extends Occasion>(
  object: ObjectContext,
  host: TreeHost,
  argument: Argument,
  method: (work: TreeWork, argument: Argument) => unknown,
): Json {
  const work = TreeWork.on(object, host, argument);
  if (!work) throw new NotFoundError({ what: "tree", id: object.key });
  const reply = method(work, argument);
  work.commit();
  return Json.of(reply);
}
