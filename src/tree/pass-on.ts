import type { Envelope, RunId } from "#kernel";
import { deadLetter, wakeNew } from "./new-run.ts";
import type { InboxItem, RunRecord, StoredItem } from "./state/records.ts";
import type { TreeWork } from "./state/tree-work.ts";

const listEnvelopes = (
  items: readonly StoredItem[],
  ...kinds: readonly InboxItem["kind"][]
): readonly Envelope[] =>
  items.flatMap((item) => ("envelope" in item && kinds.includes(item.kind) ? [item.envelope] : []));

/**
 * Passes unread messages to a new run of the same agent, or records them as dead letters. Steering for the ended work
 * is always a dead letter. The run's first message is dropped, read or not. Returns whether a run was woken.
 */
export function passOn(
  work: TreeWork,
  { id, run }: { readonly id: RunId; readonly run: RunRecord },
  items: readonly StoredItem[],
): boolean {
  const { agentId, version, budget, tools, supervision } = run;
  const to = { run: id, agent: agentId };
  deadLetter(work, { ...to, reason: "run-ended" }, listEnvelopes(items, "steer", "followUp"));
  const messages = listEnvelopes(items, "message");
  const unread = run.startedAt === null ? messages : messages.filter((each) => each.id !== run.firstMessage);
  if (unread.length === 0) return false;
  const { priority, retention } = supervision;
  const why = whyUnreadable(work, run);
  const woken =
    why ?? wakeNew(work, { agentId, version, priority, budget, retention, tools, inheritsFrom: run }, unread);
  if (!("reason" in woken)) return true;
  deadLetter(work, { ...to, reason: woken.reason }, unread);
  return false;
}

function whyUnreadable(
  work: TreeWork,
  { cancel: cancelled, startedAt }: RunRecord,
): { reason: string } | null {
  if (work.slot(work.root) === undefined) return { reason: "tree-ended" };
  if (cancelled !== null) return { reason: "cancelled" };
  return startedAt === null ? { reason: "never-started" } : null;
}
