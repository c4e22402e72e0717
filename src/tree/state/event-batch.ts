import { Json, type HistoryRetention, type NumberedEvent, type RunId } from "#kernel";
import type { Slot } from "#ledger";
import { listRun, type RunRecords } from "./listed-run.ts";
import type { EndedRecord, EventBatch, RunRecord, TreeRecord } from "./records.ts";

/** The records that a call of a tree has loaded. */
export interface BatchContent {
  /** Returns the record of a run, as stored and as it is now. Undefined: not loaded. */
  record(run: RunId): { readonly stored: RunRecord | null; readonly now: RunRecord | null } | undefined;
  /** Returns the slot of a run. Undefined: not loaded. */
  slot(run: RunId): Slot | null | undefined;
  /** Returns the record of a run that this call has ended. Null if it has not. */
  getEnded(run: RunId): EndedRecord | null;
}

/** Maximum number of events in a batch. If there are more, the projector reads them itself. */
const maxEvents = 32;

/**
 * Returns events with their runs, for the store. Null if a record would have to be loaded: then the projector reads
 * them, in a separate call.
 */
export function batchAtHand(
  tree: TreeRecord,
  events: readonly NumberedEvent[],
  atHand: BatchContent,
): EventBatch | null {
  if (events.length > maxEvents || events.some((event) => "approvalId" in event)) return null;
  const found = new Map<RunId, RunRecords>();
  // Money is counted upwards, so the records of all ancestors change, too.
  const open = [...new Set(events.map(({ runId }) => runId))];
  for (let run = open.pop(); run !== undefined; run = open.pop()) {
    const records = recordsOf(run, atHand);
    if (!records) return null;
    found.set(run, records);
    const parent = "ended" in records ? records.ended.parentRunId : records.live.supervision.parentRunId;
    if (parent !== null && !found.has(parent)) open.push(parent);
  }
  return {
    events,
    runs: [...found].map(([run, records]) => listRun(tree, run, records)),
    retentions: Json.as(Object.fromEntries([...found].map(([run, records]) => [run, retentionOf(records)]))),
    approvals: [],
    more: false,
    closed: tree.status === "closed",
  };
}

/** Returns the records of a run. Null: not loaded. */
function recordsOf(run: RunId, atHand: BatchContent): RunRecords | null {
  const record = atHand.record(run);
  if (record?.now) {
    const slot = atHand.slot(run);
    return slot ? { live: record.now, slot } : null;
  }
  // A run that this call has ended has left an ended record.
  const ended = record?.stored ? atHand.getEnded(run) : null;
  return ended && { ended };
}

const retentionOf = (records: RunRecords): HistoryRetention =>
  "ended" in records ? records.ended.retention : records.live.supervision.retention;
