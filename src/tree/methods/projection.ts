import {
  type ApprovalId,
  type HistoryRetention,
  Json,
  type ObjectContext,
  type RunId,
  type RunRecord as ListedRun,
} from "#kernel";
import { approvalOf } from "./approvals.ts";
import { events } from "../state/events.ts";
import { listRun } from "../state/listed-run.ts";
import type { ArgumentOf, ReplyOf } from "../protocol.ts";
import type { TreeRecord } from "../state/records.ts";
import { endedKeys, endedOf, runsOf } from "../state/ended-runs.ts";
import { readRun, readSlot, runKey, slotKey } from "../state/stored-run.ts";
import { readTree } from "../state/tree-record.ts";
import type { TreeWork } from "../state/tree-work.ts";
import { trimEvents } from "../state/trim-events.ts";

/** Returns the events that the store does not have yet. */
export function listUnprojected(
  object: ObjectContext,
  argument: ArgumentOf<"unprojected">,
): ReplyOf<"unprojected"> {
  const tree = readTree(object);
  if (tree === null)
    return { events: [], runs: [], retentions: {}, approvals: [], more: false, closed: false };
  const { events: found, more } = events(object, argument);
  const named = new Set<RunId>();
  const asked = new Set<ApprovalId>();
  for (const event of found) {
    named.add(event.runId);
    if ("approvalId" in event) asked.add(event.approvalId);
  }
  const runs = withAncestors(object, [...named]);
  return {
    events: found,
    runs: runs.flatMap((run) => toListedRun(object, tree, run) ?? []),
    retentions: Json.as(Object.fromEntries(runs.map((run) => [run, retentionOf(object, run)]))),
    approvals: [...asked].flatMap((id) => approvalOf(object, id) ?? []),
    more,
    closed: tree.status === "closed",
  };
}

/** Returns runs with all their ancestors: money is counted upwards, so the ancestors' records change, too. */
function withAncestors(object: ObjectContext, runs: readonly RunId[]): readonly RunId[] {
  const found = new Set(runs);
  for (let level = runs; level.length > 0;) {
    if (!object.keepsReferences)
      object.prefetch([...level.flatMap((run) => [slotKey(run), runKey(run)]), ...endedKeys(level)]);
    const parents = new Set(level.flatMap((run) => parentOf(object, run) ?? []));
    level = [...parents].filter((run) => !found.has(run));
    for (const run of level) found.add(run);
  }
  return [...found];
}

const parentOf = (object: ObjectContext, run: RunId): RunId | null =>
  readRun(object, run)?.supervision.parentRunId ?? endedOf(object, run)?.parentRunId ?? null;

function retentionOf(object: ObjectContext, run: RunId): HistoryRetention {
  const live = readRun(object, run);
  // Events always belong to a run with a record. If not, the strictest retention is assumed.
  return live?.supervision.retention ?? endedOf(object, run)?.retention ?? "none";
}

/**
 * Hands new events to the projector, once. The projector has the reply in its journal, and retries until the store has
 * them.
 */
export function drain(work: TreeWork, { after, limit }: ArgumentOf<"drain">): ReplyOf<"drain"> {
  // Orders are carried out one after the other, so what was handed out before is stored.
  trimEvents(work, work.tree.projection.upTo);
  const reply = listUnprojected(work.object, { after: Math.max(after, work.tree.projection.upTo), limit });
  const upTo = reply.events.at(-1)?.seq ?? work.tree.projection.upTo;
  work.change({ projection: { upTo, asked: reply.more, at: work.now } });
  return reply;
}

/**
 * Records that the store has everything that was handed out. Events that are new by now are handed out when this
 * commits.
 */
export function noteProjected(work: TreeWork): null {
  const { upTo, at } = work.tree.projection;
  trimEvents(work, upTo);
  work.change({ projection: { upTo, asked: false, at, batches: 0 } });
  return null;
}

/** Returns a run in the form of lists. Null if there is none. */
function toListedRun(object: ObjectContext, tree: TreeRecord, run: RunId): ListedRun | null {
  const ended = endedOf(object, run);
  if (ended) return listRun(tree, run, { ended });
  const slot = readSlot(object, run);
  const live = readRun(object, run);
  return slot && live && listRun(tree, run, { live, slot });
}

/** Returns the retention of every run that has ended. */
export function retentions(object: ObjectContext): ReplyOf<"retentions"> {
  const tree = readTree(object);
  const runs = tree ? runsOf(tree) : [];
  object.prefetch(endedKeys(runs));
  const ended = runs.map((run) => [run, endedOf(object, run)?.retention] as const);
  return Json.as(Object.fromEntries(ended));
}
