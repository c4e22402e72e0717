import {
  ApprovalAnswer,
  ApprovalRefusedError,
  Json,
  NotFoundError,
  type ApprovalDecision,
  type ApprovalId,
  type ApprovalRecord,
  type ObjectContext,
  type RunId,
} from "#kernel";
import { Ledger } from "#ledger";
import { book } from "../reports.ts";
import type { ArgumentOf, ReplyOf } from "../protocol.ts";
import type { RunRecord } from "../state/records.ts";
import { checkSize, maxItemBytes } from "../state/size.ts";
import { readTree } from "../state/tree-record.ts";
import type { TreeWork } from "../state/tree-work.ts";

/** An approval, as the tree stores it. */
interface KeptApproval extends ApprovalRecord {
  /** The id of the decision's operation. A repeated operation counts once. */
  readonly operationId: string | null;
}

/** Returns the key under which the id of the n-th approval of the tree is stored. */
const placeKey = (place: number): string => `approval-at/${place}`;

const approvalKey = (id: ApprovalId): string => `approval/${id}`;

/**
 * Handles a run's approval request. Returns the decision if there is one. Otherwise null, and the decision arrives in
 * the inbox.
 */
export function request(work: TreeWork, argument: ArgumentOf<"requestApproval">): ReplyOf<"requestApproval"> {
  const { run } = argument;
  const { callId, ...approval } = argument.approval;
  checkSize("a request for an approval", approval, maxItemBytes(work.object));
  book(work, argument);
  const known = readApproval(work.object, approval.id);
  if (known) return known.decision;
  const record = work.live(run);
  const remembered = approval.asks
    ? undefined
    : record.remembered.find(
        ({ tool, ruleOfTwo }) => tool === approval.tool && (ruleOfTwo || !approval.ruleOfTwo),
      );
  const kept: KeptApproval = {
    ...approval,
    treeId: work.tree.treeId,
    runId: run,
    agentId: record.agentId,
    ...findParents(work, run),
    requestedAt: work.now,
    spentMicros: Ledger.spend(work.tree.ledger.account).costMicros,
    decision: remembered
      ? { decision: "approved", by: remembered.by, at: work.now }
      : refuseTooMany(work, record),
    operationId: null,
  };
  writeApproval(work, kept);
  work.object.set(placeKey(work.tree.approvals), approval.id);
  work.change({ approvals: work.tree.approvals + 1 });
  const { id: approvalId, tool, why, asks } = approval;
  const asked = { approvalId, tool, why, callId, ...(asks && { asks }) };
  work.emit(run, "approval.requested", asked, { place: `asked/${approvalId}` });
  if (kept.decision) announce(work, kept, kept.decision);
  else work.put(run, { ...record, asking: [...record.asking, approvalId] });
  return kept.decision;
}

/** Denies one more question of a run that has as many open ones as it may. Null: there is room. */
function refuseTooMany({ host, now: at }: TreeWork, { asking }: RunRecord): ApprovalDecision | null {
  const { openApprovals: limit } = host.backlogs;
  if (asking.length < limit) return null;
  const reason = `${limit} questions of this run are open already: wait for decisions`;
  return { decision: "denied", by: "limit", reason, at };
}

/** Returns the tree's name and the run's ancestors, so that a person can decide without looking them up. */
function findParents(work: TreeWork, run: RunId): Pick<ApprovalRecord, "treeName" | "parents"> {
  const above = work.path(run).slice(0, -1);
  work.load(above);
  const parents = above.flatMap((runId) => {
    const agentId = work.run(runId)?.agentId;
    return agentId === undefined ? [] : [{ runId, agentId }];
  });
  const { name } = work.tree;
  return { ...(name !== undefined && { treeName: name }), ...(parents.length > 0 && { parents }) };
}

/**
 * Records a decision of a person, a program or the timeout. The first decision counts. @throws NotFoundError,
 * ApprovalRefusedError
 */
export function decideApproval(work: TreeWork, argument: ArgumentOf<"decideApproval">): ApprovalDecision {
  const { approval: id, operationId, hash: _, at: __, ...answer } = argument;
  checkSize("the decision on an approval", answer, maxItemBytes(work.object) / 2);
  const kept = readApproval(work.object, id);
  if (!kept) throw new NotFoundError({ what: "approval", id });
  const isClock = answer.decision === "expired";
  if (kept.decision) {
    // The run's own code decides under the request's id. A person may have been faster.
    if (isClock || operationId === id || kept.operationId === operationId) return kept.decision;
    throw new ApprovalRefusedError({ approval: id, reason: "decided", decided: kept.decision });
  }
  const slot = work.slot(kept.runId);
  const reason = whyRefused({ isOver: !slot || slot.cancelled !== null, isClock }, kept, work.now, argument);
  const problem = reason ? { reason } : ApprovalAnswer.findProblem(kept, answer);
  if (problem) throw new ApprovalRefusedError({ approval: id, ...problem });
  return settleDecision(work, { ...kept, operationId }, { ...answer, at: work.now });
}

function whyRefused(
  { isOver, isClock }: { readonly isOver: boolean; readonly isClock: boolean },
  kept: KeptApproval,
  now: number,
  { hash }: ArgumentOf<"decideApproval">,
): ApprovalRefusedError["reason"] | null {
  if (isOver) return "run-ended";
  if (now > kept.expiresAt && !isClock) return "expired";
  return hash !== undefined && hash !== kept.hash ? "other-arguments" : null;
}

function settleDecision(work: TreeWork, kept: KeptApproval, decision: ApprovalDecision): ApprovalDecision {
  writeApproval(work, { ...kept, decision });
  const run = work.run(kept.runId);
  if (run) {
    const asking = run.asking.filter((id) => id !== kept.id);
    const isKept = decision.remember === true && decision.decision === "approved";
    const word = { tool: kept.tool, by: decision.by, ...(kept.ruleOfTwo && { ruleOfTwo: true as const }) };
    const remembered = isKept ? [...run.remembered, word] : run.remembered;
    work.put(kept.runId, { ...run, asking, remembered });
  }
  announce(work, kept, decision);
  work.push(kept.runId, { kind: "approval", approval: kept.id, hash: kept.hash, decision });
  return decision;
}

function announce(work: TreeWork, { id, runId }: KeptApproval, { decision, by }: ApprovalDecision): void {
  work.emit(runId, "approval.decided", { approvalId: id, decision, by }, { place: `decided/${id}` });
}

/** Closes the open approvals of an ended run: they can no longer be decided. */
export function closeApprovals(work: TreeWork, id: RunId): void {
  const { asking } = work.live(id);
  if (asking.length > 0) work.object.prefetch(asking.map(approvalKey));
  for (const asked of asking) {
    const kept = readApproval(work.object, asked);
    if (kept)
      settleDecision(
        work,
        { ...kept, operationId: "" },
        { decision: "expired", by: "run-ended", at: work.now },
      );
  }
}

/** Erases the approvals between two positions in the tree's order. */
export function eraseApprovals(object: ObjectContext, from: number, end: number): void {
  for (const id of idsOf(object, from, end)) object.clear(approvalKey(id));
  for (let place = from; place < end; place++) object.clear(placeKey(place));
}

/** Returns every approval of the tree, in the order of the requests. */
export function approvals(object: ObjectContext): ReplyOf<"approvals"> {
  const ids = idsOf(object, 0, readTree(object)?.approvals ?? 0);
  if (ids.length > 0) object.prefetch(ids.map(approvalKey));
  return ids.flatMap((id) => approvalOf(object, id) ?? []);
}

/** Returns one approval. Null if it was never requested, or is erased. */
export function approvalOf(object: ObjectContext, id: ApprovalId): ApprovalRecord | null {
  const kept = readApproval(object, id);
  if (!kept) return null;
  const { operationId: _, ...record } = kept;
  return record;
}

const readApproval = (object: ObjectContext, id: ApprovalId): KeptApproval | null =>
  Json.as(object.get(approvalKey(id)));

/** Returns the ids between two positions in the tree's order. Erased ones are left out. */
function idsOf(object: ObjectContext, from: number, end: number): readonly ApprovalId[] {
  const keys = Array.from({ length: end - from }, (_, index) => placeKey(from + index));
  if (keys.length > 0) object.prefetch(keys);
  return keys.flatMap((key) => Json.as<ApprovalId | null>(object.get(key)) ?? []);
}

function writeApproval(work: TreeWork, kept: KeptApproval): void {
  work.object.set(approvalKey(kept.id), Json.of(kept));
}
