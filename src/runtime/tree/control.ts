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
import { endedKey, type CancelRecord, type EndedRecord, type TreeRecord } from "./records.ts";
import { eventPage, type TreeWork } from "./tree-work.ts";

/** Holds a run and everything below it. */
export async function pause(work: TreeWork, { run }: ArgumentOf<"pause">): Promise<null> {
  await work.live(run);
  await work.decide(run, (state) => Ledger.pause(state, { run, at: work.now }));
  await perform(work);
  return null;
}

/** Lifts a hold. */
export async function resume(work: TreeWork, { run }: ArgumentOf<"resume">): Promise<null> {
  await work.live(run);
  await work.decide(run, (state) => Ledger.resume(state, { run, at: work.now }));
  await perform(work);
  return null;
}

/** Changes how important a run is. Unknown runs are no error: they may have just ended. */
export async function reprioritize(
  work: TreeWork,
  { run, priority }: ArgumentOf<"reprioritize">,
): Promise<null> {
  const known = await work.run(run);
  const from = work.slot(run)?.priority;
  if (!known || from === undefined || from === priority) return null;
  await work.decide(run, (state) => Ledger.reprioritize(state, { run, priority, at: work.now }));
  work.put(run, { ...(await work.live(run)), supervision: { ...known.supervision, priority } });
  work.emit(run, "run.reprioritized", { from, to: priority });
  await perform(work);
  return null;
}

/** More money. On the root: for the root run and for the tree. */
export async function topUp(work: TreeWork, argument: ArgumentOf<"topUp">): Promise<null> {
  const { run, tokens, cost, turns, operationId } = argument;
  await work.live(run);
  const done = `seen/topUp/${operationId}`;
  if ((await work.object.get(done)) !== null) return null;
  work.object.set(done, true);
  await work.decide(run, (state) => Ledger.topUp(state, { run, tokens, cost, turns }));
  if (run === work.root)
    await work.decide(run, (state) => Ledger.topUp(state, { run: null, tokens, cost, turns: 0 }));
  work.emit(run, "budget.topped-up", { tokens, cost, turns });
  return null;
}

/** Books what a lost attempt really cost. */
export async function reconcile(work: TreeWork, argument: ArgumentOf<"reconcile">): Promise<boolean> {
  const { attempt, usage } = argument;
  return (await work.decideDoubt(attempt, (state) => Ledger.reconcile(state, { attempt, usage }))) ?? false;
}

/** Where a run stands; null if it never was. */
export async function status(
  object: ObjectContext,
  { run }: ArgumentOf<"status">,
): Promise<ReplyOf<"status">> {
  const slots = Json.as<Readonly<Record<RunId, Slot>> | null>(await object.get("slots"));
  const slot = slots?.[run];
  if (slot) return statusOf(slot);
  return Json.as<EndedRecord | null>(await object.get(endedKey(run)))?.result.status ?? null;
}

function statusOf({ phase, held }: Slot): RunStatus {
  if (held || phase === "parked") return "paused";
  return phase === "yielding" ? "running" : phase;
}

/** What a run left behind; null while it lives. A root's comes when its whole tree is over, with all that tree spent. */
export async function result(
  object: ObjectContext,
  { run }: ArgumentOf<"result">,
): Promise<ReplyOf<"result">> {
  const ended = Json.as<EndedRecord | null>(await object.get(endedKey(run)));
  if (!ended || run !== RunId.root(ended.result.treeId)) return ended?.result ?? null;
  const tree = await treeOf(object);
  if (tree.status !== "closed") return null;
  const { account } = tree.ledger;
  const spend = Ledger.spend(account).cost;
  return { ...ended.result, usage: account.usage, spend, inDoubt: account.inDoubt.cost };
}

async function treeOf(object: ObjectContext): Promise<TreeRecord> {
  return Json.as(await object.get("tree"));
}

/** The tree's events above `after`, in order. */
export async function events(
  object: ObjectContext,
  argument: ArgumentOf<"events">,
): Promise<ReplyOf<"events">> {
  const { after, limit } = argument;
  const tree = await treeOf(object);
  if (tree === null) return { events: [], closed: false };
  const found = [];
  const tailFrom = tree.tail[0]?.seq ?? tree.seq + 1;
  for (let seq = after + 1; seq < tailFrom && found.length < limit;) {
    const page = Json.as<TreeRecord["tail"]>(await object.get(eventPage(seq)));
    for (const event of page) if (event.seq > after) found.push(event);
    seq = (page.at(-1)?.seq ?? tailFrom) + 1;
  }
  if (found.length < limit) found.push(...tree.tail.filter(({ seq }) => seq > after));
  const some = found.slice(0, limit);
  const isAll = (some.at(-1)?.seq ?? after) >= tree.seq;
  return { events: some, closed: isAll && tree.status === "closed" };
}

/** What a cancel did, once it is done. */
export async function receipt(
  object: ObjectContext,
  { number }: ArgumentOf<"receipt">,
): Promise<CancelReceipt | null> {
  const record = Json.as<CancelRecord | null>(await object.get(`cancel/${number}`));
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
export async function ledger(object: ObjectContext, { run }: ArgumentOf<"ledger">): Promise<Json> {
  const [tree, slots, record] = await Promise.all([
    treeOf(object),
    object.get("slots"),
    object.get(`run/${run}`),
  ]);
  return Json.of({ tree: tree?.ledger ?? null, slots: slots ?? {}, run: record });
}
