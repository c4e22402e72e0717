import {
  BudgetExhaustedError,
  RunId,
  Supervision,
  AgentId,
  type Envelope,
  type ErrorData,
  type ExecutionBudget,
  type HistoryRetention,
  type PermissionRule,
  type Priority,
  type TreeLimits,
} from "#kernel";
import { Ledger, type Admission } from "#ledger";
import { launch } from "./launch.ts";
import { emptyInbox } from "./state/inbox.ts";
import { livePageKey } from "./state/live-runs.ts";
import type { InboxItem, RunRecord, Terms, TurnPosition } from "./state/records.ts";
import { armDeadline } from "./timers.ts";
import type { TreeWork } from "./state/tree-work.ts";

/** The arguments of a spawn. */
export interface SpawnTerms {
  readonly parent: RunId;
  readonly agentId: AgentId;
  readonly version: string;
  readonly priority: Priority;
  readonly budget: ExecutionBudget | null;
  readonly retention: HistoryRetention;
  readonly onFull: "deny" | "wait";
  readonly detached: boolean;
  readonly tools: readonly string[] | null;
  /** Rules in addition to those of the parent. */
  readonly rules: readonly PermissionRule[];
  readonly boot: readonly Envelope[];
  readonly turn?: TurnPosition | undefined;
}

/**
 * Requests a slot from the ledger and, unless denied, stores the new run. The run starts when it has its slot. The
 * caller carries out the ledger's other effects.
 */
export function spawnRun(
  work: TreeWork,
  terms: SpawnTerms,
): { readonly run: RunId; readonly admission: Admission } {
  const id = RunId.of(work.tree.treeId, work.tree.nextRun);
  const { parent, agentId, priority, budget, onFull, detached } = terms;
  work.object.prefetch([livePageKey(id)]);
  work.expectNew(id);
  const admission = work.decide(parent, (state) =>
    Ledger.admit(state, { run: id, parent, priority, budget, onFull, detached, at: work.now }),
  );
  if (admission.kind === "denied") {
    work.emit(parent, "spawn.denied", { childAgent: agentId, reason: admission.reason });
    return { run: id, admission };
  }
  const parentRun = work.live(parent);
  work.change({ nextRun: work.tree.nextRun + 1 });
  const supervision = Supervision.child(parentRun.supervision, {
    runId: id,
    agentId,
    parentId: parentRun.agentId,
    executionBudget: budget ?? undefined,
    retention: terms.retention,
    priority,
  });
  const { boot, version, turn } = terms;
  const rules = [...parentRun.rules, ...terms.rules];
  const ancestors = [...parentRun.ancestors, parent];
  const more = { boot, tools: narrowTools(parentRun, terms), rules, budget, ancestors, turn };
  work.put(id, newRun(work, supervision, { ...more, version }));
  if (admission.kind === "granted") {
    work.emit(parent, "spawn.admitted", { child: id, childAgent: agentId, priority });
    start(work, id);
  } else {
    work.emit(parent, "spawn.queued", { child: id, childAgent: agentId, victim: admission.victim });
  }
  return { run: id, admission };
}

/** Returns the tools of a child. A run with restricted tools gives a copy of itself no others. */
function narrowTools(
  parentRun: RunRecord,
  { agentId, tools }: Pick<SpawnTerms, "agentId" | "tools">,
): readonly string[] | null {
  // The type decides, because the key of an id is any text.
  if (parentRun.tools === null || AgentId.type(parentRun.agentId) !== AgentId.type(agentId)) return tools;
  return tools?.filter((name) => parentRun.tools?.includes(name)) ?? parentRun.tools;
}

/** Returns the record of a spawned run that has not started. */
export function newRun(
  work: TreeWork,
  supervision: Supervision,
  more: {
    readonly version: string;
    readonly boot: readonly Envelope[];
    readonly tools: readonly string[] | null;
    readonly rules: readonly PermissionRule[];
    readonly budget: ExecutionBudget | null;
    /** Default: none, as at the root. */
    readonly ancestors?: readonly RunId[];
    readonly turn?: TurnPosition | undefined;
  },
): RunRecord {
  return {
    agentId: supervision.agentId,
    version: more.version,
    supervision,
    ancestors: more.ancestors ?? [],
    budget: more.budget,
    boot: more.boot[0]?.id ?? null,
    execution: null,
    hearsNews: false,
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
    ...(more.turn && { turn: more.turn }),
    asking: [],
    remembered: [],
    cancel: null,
    spentAfter: 0,
    pausedFor: null,
    denied: [],
    untold: work.host.policyOf(supervision.agentId).hasHooks ? [] : null,
  };
}

/** Starts a run that has its slot. */
export function start(work: TreeWork, id: RunId): void {
  const run = work.live(id);
  launch(work, id, { ...run, startedAt: work.now });
  armDeadline(work, id);
  work.emit(id, "run.start", {
    priority: run.supervision.priority,
    parentRunId: run.supervision.parentRunId,
    traceId: work.tree.traceId,
    limits: {
      maxCostMicros: run.account.maxCostMicros,
      maxTokens: run.account.maxTokens,
      maxTurns: run.account.maxTurns,
      deadlineAt: work.slot(id)?.deadline ?? null,
    },
    version: run.version,
    ...(id === work.root && { treeLimits: treeLimits(work) }),
    ...(id === work.root && work.tree.caller !== null && { caller: work.tree.caller }),
    ...(work.host.policyOf(run.agentId).allowsAll && { allowsAll: true }),
  });
}

function treeLimits({ tree: { ledger } }: TreeWork): TreeLimits {
  const { maxCostMicros, maxTokens } = ledger.account;
  return { maxCostMicros, maxTokens, maxAgents: ledger.spawn.maxAgents };
}

/** Spawns a run of an agent, under the root, for messages that found no live run. Otherwise records why it cannot. */
export function wakeNew(
  work: TreeWork,
  terms: Terms & { readonly agentId: AgentId; readonly rules?: readonly PermissionRule[] },
  boot: readonly Envelope[],
): { readonly run: RunId } | { readonly reason: string } {
  const place = { parent: work.root, onFull: "wait", detached: true, boot } as const;
  const { run, admission } = spawnRun(work, { rules: [], ...terms, ...place });
  return admission.kind === "denied" ? { reason: admission.reason } : { run };
}

/** Records messages that will never be read as dead letters. */
export function deadLetter(
  work: TreeWork,
  { run, agent, reason }: { readonly run: RunId; readonly agent: AgentId; readonly reason: string },
  envelopes: readonly Envelope[],
): void {
  for (const { id } of envelopes) {
    const payload = { messageId: id, reason, attempts: 0 };
    work.emit(run, "message.dead-lettered", payload, { agent });
  }
}

/** Returns the error of a denied admission. */
export function denialOf(admission: Extract<Admission, { kind: "denied" }>): ErrorData {
  return new BudgetExhaustedError(admission).toJSON();
}
