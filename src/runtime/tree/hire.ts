import {
  BudgetExhaustedError,
  RunId,
  Supervision,
  type AgentId,
  type Envelope,
  type ErrorData,
  type ExecutionBudget,
  type HistoryRetention,
  type PermissionRule,
  type Priority,
} from "#kernel";
import { Ledger, type Admission } from "#ledger";
import { launch } from "./entrance.ts";
import { emptyInbox } from "./inbox.ts";
import type { InboxItem, RunRecord, Terms } from "./records.ts";
import type { TreeWork } from "./tree-work.ts";

/** How a run is hired. */
export interface Hiring {
  readonly parent: RunId;
  readonly agentId: AgentId;
  readonly version: string;
  readonly priority: Priority;
  readonly budget: ExecutionBudget | null;
  readonly retention: HistoryRetention;
  readonly onFull: "deny" | "wait";
  readonly detached: boolean;
  readonly tools: readonly string[] | null;
  /** Besides those of the parent. */
  readonly rules: readonly PermissionRule[];
  readonly boot: readonly Envelope[];
}

/**
 * Asks the ledger for a slot and, unless it is denied, keeps the new run. It starts when it has its slot. What else
 * the ledger asks for is left to the caller.
 */
export function hire(work: TreeWork, hiring: Hiring): { readonly run: RunId; readonly admission: Admission } {
  const id = RunId.of(work.tree.treeId, work.tree.nextRun);
  const { parent, agentId, priority, budget, onFull, detached } = hiring;
  const admission = work.decide(parent, (state) =>
    Ledger.admit(state, { run: id, parent, priority, budget, onFull, detached, at: work.now }),
  );
  if (admission.kind === "denied") {
    work.emit(parent, "spawn.denied", { childAgent: agentId, reason: admission.reason });
    return { run: id, admission };
  }
  const boss = work.live(parent);
  work.change({ nextRun: work.tree.nextRun + 1 });
  const supervision = Supervision.child(boss.supervision, {
    runId: id,
    agentId,
    parentId: boss.agentId,
    executionBudget: budget ?? undefined,
    retention: hiring.retention,
    priority,
  });
  const { boot, version } = hiring;
  const rules = [...boss.rules, ...hiring.rules];
  work.put(id, newRun(work, supervision, version, { boot, tools: narrower(boss, hiring), rules, budget }));
  if (admission.kind === "granted") {
    work.emit(parent, "spawn.admitted", { child: id, childAgent: agentId, priority });
    start(work, id);
  } else {
    work.emit(parent, "spawn.queued", { child: id, childAgent: agentId, victim: admission.victim });
  }
  return { run: id, admission };
}

/** Whoever may call only some tools lets a copy of itself call no others. */
function narrower(
  boss: RunRecord,
  { agentId, tools }: Pick<Hiring, "agentId" | "tools">,
): readonly string[] | null {
  if (boss.tools === null || boss.agentId !== agentId) return tools;
  return tools?.filter((name) => boss.tools?.includes(name)) ?? boss.tools;
}

/** The record of a run that has been hired and not started. */
export function newRun(
  work: TreeWork,
  supervision: Supervision,
  version: string,
  more: {
    readonly boot: readonly Envelope[];
    readonly tools: readonly string[] | null;
    readonly rules: readonly PermissionRule[];
    readonly budget: ExecutionBudget | null;
  },
): RunRecord {
  return {
    agentId: supervision.agentId,
    version,
    supervision,
    budget: more.budget,
    boot: more.boot[0]?.id ?? null,
    execution: null,
    continuation: 0,
    hiredAt: work.now,
    startedAt: null,
    account: Ledger.account(more.budget ?? {}),
    inbox: { ...emptyInbox, items: more.boot.map((envelope): InboxItem => ({ kind: "message", envelope })) },
    reported: 0,
    crashes: 0,
    crashedIn: "",
    watchers: [],
    tools: more.tools,
    rules: more.rules,
    asking: [],
    remembered: [],
    cancel: null,
    spentAfter: 0,
    pausedFor: null,
  };
}

/** Starts a run that has its slot. */
export function start(work: TreeWork, id: RunId): void {
  const run = work.live(id);
  launch(work, id, { ...run, startedAt: work.now });
  work.emit(id, "run.start", {
    priority: run.supervision.priority,
    parentRunId: run.supervision.parentRunId,
    traceId: work.tree.traceId,
    ...(id === work.root && work.tree.caller !== null && { caller: work.tree.caller }),
  });
}

/** Hires a new run of an agent for messages that found none; or says why it cannot. The root is its boss. */
export function wakeNew(
  work: TreeWork,
  agentId: AgentId,
  terms: Terms & { readonly rules?: readonly PermissionRule[] },
  boot: readonly Envelope[],
): { readonly run: RunId } | { readonly reason: string } {
  const place = { parent: work.root, agentId, onFull: "wait", detached: true, boot } as const;
  const { run, admission } = hire(work, { rules: [], ...terms, ...place });
  return admission.kind === "denied" ? { reason: admission.reason } : { run };
}

/** Says that messages will never be read. */
export function deadLetter(
  work: TreeWork,
  to: { readonly run: RunId; readonly agent: AgentId },
  envelopes: readonly Envelope[],
  reason: string,
): void {
  for (const { id } of envelopes) {
    const payload = { messageId: id, reason, attempts: 0 };
    work.emit(to.run, "message.dead-lettered", payload, { agent: to.agent });
  }
}

/** The error of a denied admission. */
export function denialOf(admission: Extract<Admission, { kind: "denied" }>): ErrorData {
  const { limit, used, reason } = admission;
  return new BudgetExhaustedError({ dimension: "agents", limit, used, reason }).toJSON();
}
