import {
  Json,
  NotFoundError,
  RunEndedError,
  RunId,
  type CancelReceipt,
  type Micros,
  type ObjectContext,
} from "#kernel";
import type { Doubt } from "#ledger";
import { ofTree } from "../final-result.ts";
import { statusOf } from "../state/listed-run.ts";
import { LiveRuns } from "../state/live-runs.ts";
import type { ArgumentOf, ReplyOf } from "../protocol.ts";
import { cancelDoneKey, cancelKey, type CancelRecord, doubtKey } from "../state/records.ts";
import { endedKeys, endedOf, readEndedResult } from "../state/ended-runs.ts";
import { readRun, readSlot } from "../state/stored-run.ts";
import { readTree } from "../state/tree-record.ts";

/** Returns the status of a run. Null if it never existed. */
export function status(object: ObjectContext, { run }: ArgumentOf<"status">): ReplyOf<"status"> {
  const slot = readSlot(object, run);
  if (slot) return readTree(object)?.waits ? "pending" : statusOf(slot);
  return endedOf(object, run)?.result.status ?? null;
}

/** Returns whether the root compacts its conversation now. */
export function queryCompacting(object: ObjectContext): ReplyOf<"compacting"> {
  const tree = readTree(object);
  if (!tree || tree.status === "closed") return false;
  return tree.turn?.compaction !== undefined || tree.isCompacting === true;
}

/**
 * Returns the result of a run. Null while it lives. A root's result is available when its whole tree has ended, with
 * the total spend.
 *
 * @throws NotFoundError if there is no such run
 */
export function result(object: ObjectContext, { run }: ArgumentOf<"result">): ReplyOf<"result"> {
  const tree = readTree(object);
  if (!tree || RunId.number(run) >= tree.nextRun) throw new NotFoundError({ what: "run", id: run });
  const left = readEndedResult(object, run);
  if (!left || run !== RunId.root(left.treeId)) return left;
  if (tree.status !== "closed") return null;
  return ofTree(tree, left);
}

/** Returns the receipt of a cancel. Null until all of its runs have ended. */
export function receipt(object: ObjectContext, { number }: ArgumentOf<"receipt">): CancelReceipt | null {
  object.prefetch([cancelKey(number), cancelDoneKey(number)]);
  const record = Json.as<CancelRecord | null>(object.get(cancelKey(number)));
  if (!record) throw new RunEndedError({ run: String(number) });
  if (object.get(cancelDoneKey(number)) === null) return null;
  object.prefetch(endedKeys(record.runs));
  const runs: { runId: RunId; tookMs: number; spentAfter: Micros }[] = [];
  for (const run of record.runs) {
    const ended = endedOf(object, run);
    if (ended) runs.push({ runId: run, tookMs: ended.endedAt - record.at, spentAfter: ended.spentAfter });
  }
  return { reason: record.reason, runs };
}

/** Returns the booking of a call in doubt. */
export function doubt(object: ObjectContext, { attempt }: ArgumentOf<"doubt">): ReplyOf<"doubt"> {
  return Json.as<Doubt | null>(object.get(doubtKey(attempt)));
}

/** Returns money and headcount, for people. */
export function ledger(object: ObjectContext, { run }: ArgumentOf<"ledger">): Json {
  const record = readRun(object, run);
  const tree = readTree(object);
  const live = tree ? new LiveRuns(object, tree.treeId).all().map((each) => each.run) : [];
  return Json.of({ tree: tree?.ledger ?? null, live, run: record });
}
