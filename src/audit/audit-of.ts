import {
  toStopReason,
  type AuditHead,
  type EventType,
  type JsonObject,
  type NumberedEvent,
  type ReeveEvent,
  type TreeId,
} from "#kernel";
import type { AuditNote } from "./chain.ts";

/** Kinds of audited decisions. */
export type AuditKind =
  | "permission"
  | "approval"
  | "guardrail"
  | "spawn"
  | "spend"
  | "reconcile"
  | "cancel"
  | "budget"
  | "switch"
  | "retention"
  | "audit";

interface NoteContent {
  readonly kind: AuditKind;
  readonly data: JsonObject;
}

/**
 * Maps each event type to its audit note. Null: nothing was decided. Notes hold ids, names and amounts, never content.
 */
const tellers: { readonly [Type in EventType]: ((event: ReeveEvent<Type>) => NoteContent | null) | null } = {
  "run.start": ({ allowsAll }) =>
    allowsAll ? { kind: "permission", data: { decision: "allow-all" } } : null,
  "run.end": null,
  "cycle.start": null,
  "cycle.end": null,
  "model.start": null,
  "model.end": null,
  "tool.start": ({ tool, callId }) => ({
    kind: "permission",
    data: { decision: "allowed", tool, callId },
  }),
  "tool.end": null,
  "permission.denied": ({ tool, callId }) => ({
    kind: "permission",
    data: { decision: "denied", tool, callId },
  }),
  "guardrail.trip": ({ guardrail, decision }) => ({ kind: "guardrail", data: { decision, guardrail } }),
  "handoff.made": null,
  "flow.start": null,
  "flow.end": null,
  "turn.start": null,
  "turn.end": null,
  "turn.saved": null,
  "session.settled": null,
  "retry.start": null,
  "retry.end": null,
  "compaction.start": null,
  "compaction.end": null,
  "spawn.admitted": ({ child, childAgent, priority }) => ({
    kind: "spawn",
    data: { decision: "admitted", child, childAgent, priority },
  }),
  "spawn.queued": ({ child, childAgent, victim }) => ({
    kind: "spawn",
    data: { decision: "queued", child, childAgent, victim },
  }),
  "spawn.denied": ({ childAgent, reason }) => ({
    kind: "spawn",
    data: { decision: "denied", childAgent, reason },
  }),
  "run.paused": null,
  "run.resumed": null,
  "run.reprioritized": null,
  // A reason is free text, unless it is a built-in stop reason.
  "run.cancelling": ({ reason }) => ({ kind: "cancel", data: { decision: toStopReason(reason) } }),
  "budget.warning": null,
  "budget.reserved": null,
  "budget.waiting": null,
  "budget.settled": ({ tokens, costMicros, inDoubt, reconciled = false }) => ({
    kind: reconciled ? "reconcile" : "spend",
    data: { decision: "settled", tokens, costMicros, inDoubt },
  }),
  "budget.denied": ({ reason, dimension, account, limit, used }) => ({
    kind: "spend",
    data: { decision: "denied", reason, dimension, account, limit, used },
  }),
  "budget.topped-up": ({ tokens, costMicros, turns }) => ({
    kind: "spend",
    data: { decision: "topped-up", tokens, costMicros, turns },
  }),
  "approval.requested": ({ approvalId, tool }) => ({
    kind: "approval",
    data: { decision: "requested", approvalId, tool },
  }),
  "approval.decided": ({ approvalId, decision, by }) => ({
    kind: "approval",
    data: { decision, approvalId, by },
  }),
  "message.sent": null,
  "message.dead-lettered": null,
  "progress.emitted": null,
  "extension.error": null,
  custom: null,
};

/** Returns the audit note of an event. Null if nothing was decided. */
export function auditOf(event: NumberedEvent): AuditNote | null {
  const told = toAuditNote(event.type, event);
  if (!told) return null;
  const { treeId, seq, runId: run, agent, at, attempt } = event;
  const { kind, data } = told;
  const about = { run, agent, ...(attempt !== null && { attempt }) };
  return { at, kind, data: { ...data, ...about }, source: `${treeId}/${seq}` };
}

/** An erasure of a tree's content. */
interface TreeErasure {
  /** Number of runs whose content is erased. */
  readonly runs: number;
  /** Whether a person ordered it: then it includes what would have lasted. */
  readonly whole?: true | undefined;
  readonly at: number;
}

/** Returns the audit note of the erasure of a tree's content. */
export function erasure(tree: TreeId, { runs, whole, at }: TreeErasure): AuditNote {
  const kind: AuditKind = "retention";
  const decision = whole ? "erased-whole" : "erased";
  return { at, kind, data: { decision, tree, runs }, source: `${tree}/${decision}` };
}

/** Returns the audit note of a tree that is stored in reduced form. `reason`: the code of the rejection. */
export function reduction(
  tree: TreeId,
  { reason, at }: { readonly reason: string; readonly at: number },
): AuditNote {
  const kind: AuditKind = "retention";
  return { at, kind, data: { decision: "reduced", tree, reason }, source: `${tree}/reduced` };
}

/** Returns a note about the chain itself: links after the new end, up to this head, are missing. */
export function createMovedBackNote({ index, hash }: AuditHead, at: number): AuditNote {
  const kind: AuditKind = "audit";
  return { at, kind, data: { decision: "moved-back", index, hash }, source: `audit/${index}/${hash}` };
}

/** Whether a link reports that earlier links are missing. */
export const isMovedBack = ({ kind, source }: AuditNote): boolean =>
  kind === ("audit" satisfies AuditKind) && source.startsWith("audit/");

/** A separate type parameter lets the compiler match mapper and event. */
function toAuditNote<Type extends EventType>(type: Type, event: ReeveEvent<Type>): NoteContent | null {
  return tellers[type]?.(event) ?? null;
}
