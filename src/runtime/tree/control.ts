import {
  Json,
  keysOf,
  RunEndedError,
  RunId,
  type CancelReceipt,
  type Micros,
  type ObjectContext,
  type RunStatus,
} from "#kernel";
import { Ledger, type Slot } from "#ledger";
import { perform } from "./life.ts";
import type { ArgumentOf, ReplyOf } from "./protocol.ts";
import { cancelKey, type CancelRecord, type TreeRecord } from "./records.ts";
import { endedOf, remains } from "./remains.ts";
import { eventPage, type TreeWork } from "./tree-work.ts";

/** Holds a run and everything below it. */
export function pause(work: TreeWork, { run }: ArgumentOf<"pause">): null {
  work.live(run);
  work.decide(run, (state) => Ledger.pause(state, { run, at: work.now }));
  perform(work);
  return null;
}

/** Lifts a hold. */
export function resume(work: TreeWork, { run }: ArgumentOf<"resume">): null {
  work.live(run);
  work.decide(run, (state) => Ledger.resume(state, { run, at: work.now }));
  perform(work);
  return null;
}

/** Changes how important a run is. Unknown runs are no error: they may have just ended. */
export function reprioritize(work: TreeWork, { run, priority }: ArgumentOf<"reprioritize">): null {
  const known = work.run(run);
  const from = work.slot(run)?.priority;
  if (!known || from === undefined || from === priority) return null;
  work.decide(run, (state) => Ledger.reprioritize(state, { run, priority, at: work.now }));
  work.put(run, { ...work.live(run), supervision: { ...known.supervision, priority } });
  work.emit(run, "run.reprioritized", { from, to: priority });
  perform(work);
  return null;
}

/** More money. On the root: for the root run and for the tree. */
export function topUp(work: TreeWork, argument: ArgumentOf<"topUp">): null {
  const { run, tokens, cost, turns, operationId } = argument;
  work.live(run);
  const done = `seen/topUp/${operationId}`;
  if (work.object.get(done) !== null) return null;
  work.object.set(done, true);
  work.decide(run, (state) => Ledger.topUp(state, { run, tokens, cost, turns }));
  if (run === work.root)
    work.decide(run, (state) => Ledger.topUp(state, { run: null, tokens, cost, turns: 0 }));
  work.emit(run, "budget.topped-up", { tokens, cost, turns });
  return null;
}

/** Books what a lost attempt really cost. */
export function reconcile(work: TreeWork, argument: ArgumentOf<"reconcile">): boolean {
  const { attempt, usage } = argument;
  const booked = work.decideDoubt(attempt, (state) => Ledger.reconcile(state, { attempt, usage }));
  if (!booked) return false;
  const { run, ...amounts } = booked;
  // Bills come late: the run may be over.
  const agent = (work.run(run) ?? endedOf(work.object, run))?.agentId;
  const told = { ...amounts, reconciled: true } as const;
  work.emit(run, "budget.settled", told, {
    place: `reconciled/${attempt}`,
    attempt,
    ...(agent && { agent }),
  });
  return true;
}

/** Where a run stands; null if it never was. */
export function status(object: ObjectContext, { run }: ArgumentOf<"status">): ReplyOf<"status"> {
  const slots = Json.as<Readonly<Record<RunId, Slot>> | null>(object.get("slots"));
  const slot = slots?.[run];
  if (slot) return treeOf(object)?.waits ? "pending" : statusOf(slot);
  return endedOf(object, run)?.result.status ?? null;
}

/** How a slot shows from outside. */
export function statusOf({ phase, held }: Slot): RunStatus {
  if (held || phase === "parked") return "paused";
  return phase === "yielding" ? "running" : phase;
}

/** What a run left behind; null while it lives. A root's comes when its whole tree is over, with all that tree spent. */
export function result(object: ObjectContext, { run }: ArgumentOf<"result">): ReplyOf<"result"> {
  const left = remains(object, run);
  if (!left || run !== RunId.root(left.treeId)) return left;
  const tree = treeOf(object);
  if (tree?.status !== "closed") return null;
  const { account } = tree.ledger;
  const spend = Ledger.spend(account).cost;
  return { ...left, usage: account.usage, spend, inDoubt: account.inDoubt.cost };
}

/** Null: there is no such tree. */
export function treeOf(object: ObjectContext): TreeRecord | null {
  return Json.as(object.get("tree"));
}

/** The tree's events above `after`, in order. */
export function events(object: ObjectContext, argument: ArgumentOf<"events">): ReplyOf<"events"> {
  const { after, limit } = argument;
  const tree = treeOf(object);
  if (tree === null) return { events: [], closed: false };
  const found = [];
  const tailFrom = tree.tail[0]?.seq ?? tree.seq + 1;
  for (let seq = after + 1; seq < tailFrom && found.length < limit;) {
    // Erased where the store has them.
    const page = Json.as<TreeRecord["tail"] | null>(object.get(eventPage(seq))) ?? [];
    for (const event of page) if (event.seq > after) found.push(event);
    seq = (page.at(-1)?.seq ?? tailFrom) + 1;
  }
  if (found.length < limit) found.push(...tree.tail.filter(({ seq }) => seq > after));
  const some = found.slice(0, limit);
  const isAll = (some.at(-1)?.seq ?? after) >= tree.seq;
  return { events: some, closed: isAll && tree.status === "closed" };
}

/** What a cancel did, once it is done. */
export function receipt(object: ObjectContext, { number }: ArgumentOf<"receipt">): CancelReceipt | null {
  const record = Json.as<CancelRecord | null>(object.get(cancelKey(number)));
  if (!record) throw new RunEndedError({ run: String(number) });
  const runs: { runId: RunId; tookMs: number; spentAfter: Micros }[] = [];
  for (const run of keysOf(record.runs)) {
    const { endedAt = null, spentAfter = 0 } = record.runs[run] ?? {};
    if (endedAt === null) return null;
    runs.push({ runId: run, tookMs: endedAt - record.at, spentAfter });
  }
  return { reason: record.reason, runs };
}

/** Money and headcount as they are, for people. */
export function ledger(object: ObjectContext, { run }: ArgumentOf<"ledger">): Json {
  const record = object.get(`run/${run}`);
  return Json.of({ tree: treeOf(object)?.ledger ?? null, slots: object.get("slots") ?? {}, run: record });
}
