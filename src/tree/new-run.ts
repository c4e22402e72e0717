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
import type { InboxItem, RunLimits, RunRecord, Terms, TurnPosition } from "./state/records.ts";
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
  /** Rules in addition to the inherited ones. */
  readonly rules: readonly PermissionRule[];
  /** The run whose rules and restricted tools the new run inherits. Default: the parent. */
  readonly inheritsFrom?: RunLimits | undefined;
  readonly firstMessages: readonly Envelope[];
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
  const { firstMessages, version, turn } = terms;
  const ancestors = [...parentRun.ancestors, parent];
  const more = {
    firstMessages,
    ...inheritLimits(terms.inheritsFrom ?? parentRun, terms),
    budget,
    ancestors,
    turn,
  };
  work.put(id, newRun(work, supervision, { ...more, version }));
  if (admission.kind === "granted") {
    work.emit(parent, "spawn.admitted", { child: id, childAgent: agentId, priority });
    start(work, id);
  } else {
    work.emit(parent, "spawn.queued", { child: id, childAgent: agentId, victim: admission.victim });
  }
  return { run: id, admission };
}

/**
 * Returns the rules and the tools of a run that another one has spawned or woken. A list of tools limits its type, not
 * only its run: it applies to all runs of the type below, also where runs of other types are between them.
 */
function inheritLimits(
  above: RunLimits,
  { agentId, tools, rules }: Pick<SpawnTerms, "agentId" | "tools" | "rules">,
): Omit<RunLimits, "agentId"> {
  // The type decides, because the key of an id is any text.
  const type = AgentId.type(agentId);
  const own = above.tools && { type: AgentId.type(above.agentId), tools: above.tools };
  const lists = [...(above.otherTools ?? []), ...(own ? [own] : [])];
  const inherited = lists.find((list) => list.type === type)?.tools ?? null;
  const otherTools = lists.filter((list) => list.type !== type);
  return {
    tools: tools && inherited ? tools.filter((name) => inherited.includes(name)) : (tools ?? inherited),
    ...(otherTools.length > 0 && { otherTools }),
    rules: [...above.rules, ...rules],
  };
}

/** Returns the record of a spawned run that has not started. */
export function newRun(
  work: TreeWork,
  supervision: Supervision,
  more: Omit<RunLimits, "agentId"> & {
    readonly version: string;
    readonly firstMessages: readonly Envelope[];
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
    firstMessage: more.firstMessages[0]?.id ?? null,
    execution: null,
    wakesWithItems: false,
    continuation: 0,
    spawnedAt: work.now,
    startedAt: null,
    account: Ledger.account(more.budget ?? {}),
    inbox: {
      ...emptyInbox,
      items: more.firstMessages.map((envelope): InboxItem => ({ kind: "message", envelope })),
    },
    reported: 0,
    crashes: 0,
    crashedIn: "",
    watchers: [],
    tools: more.tools,
    ...(more.otherTools && { otherTools: more.otherTools }),
    rules: more.rules,
    ...(more.turn && { turn: more.turn }),
    asking: [],
    remembered: [],
    cancel: null,
    spentAfter: 0,
    pausedFor: null,
    denied: [],
    undeliveredEvents: work.host.policyOf(supervision.agentId).hasHooks ? [] : null,
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

/**
 * Spawns a run of an agent, under the root, for messages that found no live run. Otherwise records why it cannot. The
 * sender's limits apply to it, as to a child: else a message would give a run the rights that were taken from it.
 */
export function wakeNew(
  work: TreeWork,
  terms: Terms & Pick<SpawnTerms, "agentId" | "inheritsFrom">,
  firstMessages: readonly Envelope[],
): { readonly run: RunId } | { readonly reason: string } {
  const place = { parent: work.root, onFull: "wait", detached: true, firstMessages } as const;
  const { run, admission } = spawnRun(work, { ...terms, ...place, rules: [] });
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
