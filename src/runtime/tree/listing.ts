import {
  type HistoryRetention,
  Json,
  type ObjectContext,
  type RunId,
  type RunRecord as ListedRun,
} from "#kernel";
import { Ledger, type Slot } from "#ledger";
import { approvalOf } from "./approvals.ts";
import { events, statusOf, treeOf } from "./control.ts";
import type { ArgumentOf, ReplyOf } from "./protocol.ts";
import { endedKey, type RunRecord, type TreeRecord } from "./records.ts";
import { endedOf, runsOf } from "./remains.ts";
import { runKey, type TreeWork } from "./tree-work.ts";

/** What the store does not have yet. */
export function unprojected(
  object: ObjectContext,
  argument: ArgumentOf<"unprojected">,
): ReplyOf<"unprojected"> {
  const tree = treeOf(object);
  if (tree === null) return { events: [], runs: [], retentions: {}, approvals: [] };
  const found = events(object, argument).events;
  const runs = [...new Set(found.map(({ runId }) => runId))];
  const asked = [...new Set(found.flatMap((event) => ("approvalId" in event ? [event.approvalId] : [])))];
  object.expect(["slots", ...runs.flatMap((run) => [runKey(run), endedKey(run)])]);
  return {
    events: found,
    runs: runs.flatMap((run) => listed(object, tree, run) ?? []),
    retentions: Json.as(Object.fromEntries(runs.map((run) => [run, retentionOf(object, run)]))),
    approvals: asked.flatMap((id) => approvalOf(object, id) ?? []),
  };
}

function retentionOf(object: ObjectContext, run: RunId): HistoryRetention {
  const live = Json.as<RunRecord | null>(object.get(runKey(run)));
  // Nobody ever hears of a run without a record; were it otherwise, less is kept.
  return live?.supervision.retention ?? endedOf(object, run)?.retention ?? "none";
}

/** The store has it: what is new by now is asked for when this commits. */
export function projected(work: TreeWork, { upTo }: ArgumentOf<"projected">): null {
  work.change({ projection: { upTo: Math.max(upTo, work.tree.projection.upTo), asked: false } });
  return null;
}

/** A run as lists show it; null if there is none. */
function listed(object: ObjectContext, tree: TreeRecord, run: RunId): ListedRun | null {
  const { treeId, seq, scope } = tree;
  const of = { treeId, runId: run, userId: scope.userId, sessionId: scope.sessionId, seq };
  const ended = endedOf(object, run);
  if (ended) {
    const { agentId, parentRunId, startedAt, endedAt, result } = ended;
    const { status, stopReason, spend } = result;
    return { ...of, agentId, parentRunId, startedAt, endedAt, status, stopReason, spend };
  }
  const slots = Json.as<Readonly<Record<RunId, Slot>> | null>(object.get("slots"));
  const slot = slots?.[run];
  const live = Json.as<RunRecord | null>(object.get(runKey(run)));
  if (!slot || !live) return null;
  const { agentId, supervision, hiredAt, startedAt, account } = live;
  return {
    ...of,
    agentId,
    parentRunId: supervision.parentRunId,
    startedAt: startedAt ?? hiredAt,
    endedAt: null,
    status: tree.waits ? "pending" : statusOf(slot),
    stopReason: null,
    spend: Ledger.spend(account).cost,
  };
}

/** Of every run that has ended, how long its words stay. */
export function retentions(object: ObjectContext): ReplyOf<"retentions"> {
  const tree = treeOf(object);
  const runs = tree ? runsOf(tree) : [];
  object.expect(runs.map(endedKey));
  const ended = runs.map((run) => [run, endedOf(object, run)?.retention] as const);
  return Json.as(Object.fromEntries(ended));
}
