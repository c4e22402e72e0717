import {
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
import { book } from "./reports.ts";
import type { ArgumentOf, ReplyOf } from "./protocol.ts";
import type { TreeWork } from "./tree-work.ts";

/** A question, as the tree keeps it. */
interface KeptApproval extends ApprovalRecord {
  /** Of the decision: made again because its answer was lost, it counts once. */
  readonly operationId: string | null;
}

/** Where every question of the tree is listed. */
const listKey = "approvals";
const approvalKey = (id: ApprovalId): string => `approval/${id}`;

/** A run asks. The answer, where there is one already; else null, and news when it is there. */
export function request(work: TreeWork, argument: ArgumentOf<"requestApproval">): ReplyOf<"requestApproval"> {
  const { run } = argument;
  const { callId, ...approval } = argument.approval;
  book(work, argument);
  const known = keptOf(work.object, approval.id);
  if (known) return known.decision;
  const record = work.live(run);
  const remembered = record.remembered.find(
    ({ tool, ruleOfTwo }) => tool === approval.tool && (ruleOfTwo || !approval.ruleOfTwo),
  );
  const kept: KeptApproval = {
    ...approval,
    treeId: work.tree.treeId,
    runId: run,
    agentId: record.agentId,
    requestedAt: work.now,
    spend: Ledger.spend(work.tree.ledger.account).cost,
    decision: remembered ? { decision: "approved", by: remembered.by, at: work.now } : null,
    operationId: null,
  };
  write(work, kept);
  work.object.set(listKey, Json.of([...idsOf(work.object), approval.id]));
  const { id: approvalId, tool, why } = approval;
  work.emit(run, "approval.requested", { approvalId, tool, why, callId }, { place: `asked/${approvalId}` });
  if (kept.decision) announce(work, kept, kept.decision);
  else work.put(run, { ...record, asking: [...record.asking, approvalId] });
  return kept.decision;
}

/** Somebody, or the clock, decides. The first decision counts. @throws NotFoundError, ApprovalRefusedError */
export function decide(work: TreeWork, argument: ArgumentOf<"decideApproval">): ApprovalDecision {
  const { approval: id, operationId, hash: _, at: __, ...answer } = argument;
  const kept = keptOf(work.object, id);
  if (!kept) throw new NotFoundError({ what: "approval", id });
  const isClock = answer.decision === "expired";
  if (kept.decision) {
    if (isClock || kept.operationId === operationId) return kept.decision;
    throw new ApprovalRefusedError({ approval: id, reason: "decided" });
  }
  const slot = work.slot(kept.runId);
  const reason = whyRefused({ isOver: !slot || slot.cancelled !== null, isClock }, kept, work.now, argument);
  if (reason) throw new ApprovalRefusedError({ approval: id, reason });
  return settle(work, kept, { ...answer, at: work.now }, operationId);
}

function whyRefused(
  { isOver, isClock }: { readonly isOver: boolean; readonly isClock: boolean },
  kept: KeptApproval,
  now: number,
  { hash, decision, arguments: edited }: ArgumentOf<"decideApproval">,
): ApprovalRefusedError["reason"] | null {
  if (isOver) return "run-ended";
  if (now > kept.expiresAt && !isClock) return "expired";
  if (hash !== undefined && hash !== kept.hash) return "other-arguments";
  return decision === "edited" && edited === undefined ? "no-arguments" : null;
}

function settle(
  work: TreeWork,
  kept: KeptApproval,
  decision: ApprovalDecision,
  operationId: string,
): ApprovalDecision {
  write(work, { ...kept, decision, operationId });
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

/** A run is over: nobody can answer it any more. */
export function closeApprovals(work: TreeWork, id: RunId): void {
  for (const asked of work.live(id).asking) {
    const kept = keptOf(work.object, asked);
    if (kept) settle(work, kept, { decision: "expired", by: "run-ended", at: work.now }, "");
  }
}

/** The words of all questions go with the tree. */
export function eraseApprovals(object: ObjectContext): void {
  for (const id of idsOf(object)) object.clear(approvalKey(id));
  object.clear(listKey);
}

/** Every question of the tree, in the order they were asked. */
export function approvals(object: ObjectContext): ReplyOf<"approvals"> {
  return idsOf(object).flatMap((id) => approvalOf(object, id) ?? []);
}

/** One question; null if it was never asked, or is erased. */
export function approvalOf(object: ObjectContext, id: ApprovalId): ApprovalRecord | null {
  const kept = keptOf(object, id);
  if (!kept) return null;
  const { operationId: _, ...record } = kept;
  return record;
}

const keptOf = (object: ObjectContext, id: ApprovalId): KeptApproval | null =>
  Json.as(object.get(approvalKey(id)));

const idsOf = (object: ObjectContext): readonly ApprovalId[] => Json.as(object.get(listKey) ?? []);

function write(work: TreeWork, kept: KeptApproval): void {
  work.object.set(approvalKey(kept.id), Json.of(kept));
}
