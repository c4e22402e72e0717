import { AgentId, IdConflictError, RunId, SpawnBudget, Supervision, type ObjectContext } from "#kernel";
import { Ledger } from "#ledger";
import { liveKeys } from "../state/live-runs.ts";
import { claimContent } from "../state/content.ts";
import { newRun, start } from "../new-run.ts";
import type { OpenArgument } from "../open-argument.ts";
import type { ReplyOf } from "../protocol.ts";
import type { TreeDeps, TreeRecord, TurnPosition } from "../state/records.ts";
import { checkSize, maxItemBytes, maxMetadataBytes } from "../state/size.ts";
import { TreeWork } from "../state/tree-work.ts";
import { noteUndelivered } from "../state/undelivered.ts";

/** Opens the tree and launches its root. The same id with the same input is the same tree. */
export function open(object: ObjectContext, host: TreeDeps, argument: OpenArgument): ReplyOf<"open"> {
  const root = RunId.root(argument.treeId);
  const existing = TreeWork.on(object, host, argument, liveKeys(root));
  if (existing) {
    if (existing.tree.inputHash !== argument.inputHash) throw new IdConflictError({ id: argument.treeId });
    return { existing: true, execution: null };
  }
  checkSize("the metadata of a tree", argument.scope.metadata, maxMetadataBytes);
  checkSize("the input of a tree", argument.firstMessage, maxItemBytes(object));
  const { treeId, scope, spawn, rootBudget, priority, rules } = argument;
  const at = object.now();
  const lease = scope.tenantId === null ? null : Ledger.noLease;
  const ledger = Ledger.open({ ...argument, lease, root, at });
  const tree: TreeRecord = {
    treeId,
    status: "open",
    inputHash: argument.inputHash,
    secret: argument.secret,
    scope,
    traceId: argument.traceId,
    caller: argument.caller,
    ledger: ledger.tree,
    clock: at,
    nextRun: 1,
    seq: 0,
    firstEvent: 1,
    prices: argument.prices,
    yieldTimeoutMs: argument.yieldTimeoutMs,
    cancelGraceMs: argument.cancelGraceMs,
    timer: null,
    maxRestarts: argument.maxRestarts,
    session: argument.session,
    turn: host.projects ? turnPlace(argument) : null,
    ...(argument.name !== undefined && { name: argument.name }),
    waits: argument.waits,
    projection: { upTo: 0, asked: false, at, batches: 0 },
    approvals: 0,
    cancelling: {},
    hasErasable: false,
    erased: false,
  };
  const work = TreeWork.fresh(object, host, tree, ledger.slots);
  const supervision = Supervision.root(argument.agentId, {
    treeId,
    runId: root,
    sessionId: scope.sessionId,
    spawnBudget: SpawnBudget.of(spawn),
    executionBudget: rootBudget,
    retention: argument.retention,
    priority,
  });
  const more = { firstMessages: [{ ...argument.firstMessage, at }], tools: null, rules, budget: rootBudget };
  const record = newRun(work, supervision, { ...more, version: versionOf(host, argument) });
  // The root's account holds the tree's limit of turns.
  work.put(root, { ...record, account: ledger.accounts[root] ?? record.account });
  claimContent(work, argument.firstMessage.files);
  if (!argument.waits) start(work, root);
  noteUndelivered(work);
  work.commit();
  return { existing: false, execution: work.run(root)?.execution ?? null };
}

function versionOf({ agents }: TreeDeps, { agentId, version, statesVersion }: OpenArgument): string {
  return statesVersion ? version : (agents[AgentId.type(agentId)]?.version ?? version);
}

/** Returns the turn's position in a stored conversation. Null if the turn is not written there and follows no entry. */
function turnPlace({ session, after, retention, compaction }: OpenArgument): TurnPosition | null {
  const isNamed = session !== null;
  const isKept = retention === "permanent";
  const more = { ...(after !== undefined && { after }), ...(compaction && { compaction }) };
  return isKept || isNamed ? { isKept, isNamed, ...more } : null;
}

/** Starts the root of a tree that has got its turn. Its time runs from now. */
export function startTurn(work: TreeWork): null {
  const slot = work.slot(work.root);
  if (!work.tree.waits || !slot) return null;
  work.change({ waits: false });
  const deadline = slot.deadline === null ? null : slot.deadline + work.now - slot.since;
  work.setSlot(work.root, { ...slot, since: work.now, deadline });
  start(work, work.root);
  return null;
}
