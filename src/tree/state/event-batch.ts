import { Json, type HistoryRetention, type NumberedEvent, type RunId } from "#kernel";
import type { Slot } from "#ledger";
import { listRun, type RunRecords } from "./listed-run.ts";
import type { EndedRecord, EventBatch, RunRecord, TreeRecord } from "./records.ts";

/** The records that a call of a tree has at hand. */
export interface AtHand {
  /** The record of a run as it was and as it is; undefined: it was not loaded. */
  record(run: RunId): { readonly stored: RunRecord | null; readonly now: RunRecord | null } | undefined;
  /** The slot of a run; undefined: it was not loaded. */
  slot(run: RunId): Slot | null | undefined;
  /** Returns the record that stays of a run that this call has ended; null if it has not. */
  ended(run: RunId): EndedRecord | null;
}

/** More events than this are read by the projector itself. */
const maxEvents = 32;

/**
 * Returns events with the runs that they concern, for the store. Null where a record would have to be loaded for it: then
 * the projector reads them, by a call of its own.
 */
export function batchAtHand(
  tree: TreeRecord,
  events: readonly NumberedEvent[],
  atHand: AtHand,
): EventBatch | null {
  if (events.length > maxEvents || events.some((event) => "approvalId" in event)) return null;
  const found = new Map<RunId, RunRecords>();
  // Money is counted upwards, so the records of all runs above change, too.
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

/** Null: not at hand. */
function recordsOf(run: RunId, atHand: AtHand): RunRecords | null {
  const record = atHand.record(run);
  if (record?.now) {
    const slot = atHand.slot(run);
    return slot ? { live: record.now, slot } : null;
  }
  // A run that this call has ended has left what stays of it.
  const ended = record?.stored ? atHand.ended(run) : null;
  return ended && { ended };
}

const retentionOf = (records: RunRecords): HistoryRetention =>
  "ended" in records ? records.ended.retention : records.live.supervision.retention;
