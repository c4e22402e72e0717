import { type LimitMet, type NumberedEvent, type ReeveEvent, type RunLimits, Usage } from "#kernel";
import type { AgentState } from "./agent-state.ts";
import { dispatch, type OnEvent } from "./on-event.ts";

/** Applies an event to the state of its run. */
export function applyEvent(state: AgentState, event: NumberedEvent): void {
  state.lastAt = event.at;
  dispatch(life, state, event);
  dispatch(work, state, event);
}

const life: OnEvent<AgentState> = {
  "run.start": (state, { at, priority, limits = null, version = null }) => {
    state.startedAt ??= at;
    state.priority = priority;
    state.limits = limits;
    state.version = version;
    state.queued = null;
  },
  "run.end": finish,
  "run.paused": (state, { at: since, cause, reason = null }) => {
    state.paused = { since, cause, reason };
  },
  "run.resumed": (state) => {
    state.paused = null;
    state.takenBy = null;
  },
  "run.reprioritized": (state, { to }) => {
    state.priority = to;
  },
  "run.cancelling": (state, { at: since, reason }) => {
    state.cancelling = { since, reason };
  },
  "approval.requested": (state, { approvalId: id, tool, why, at: since }) => {
    state.approvals = upsert(state.approvals, { id, tool, why, since }, (each) => each.id === id);
  },
  "approval.decided": (state, { approvalId }) => {
    state.approvals = state.approvals.filter(({ id }) => id !== approvalId);
  },
  "spawn.denied": (state, { childAgent: agent, reason }) => {
    state.refusedSpawns = [...state.refusedSpawns, { agent, reason }];
  },
  "message.dead-lettered": (state, { reason, attempts }) => {
    state.deadLetters = [...state.deadLetters, { reason, attempts }];
  },
  "guardrail.trip": (state, { guardrail, reason, decision }) => {
    // Other decisions let the run continue.
    if (decision === "halt" || decision === "block") state.guardrail = { guardrail, reason };
  },
};

/** Model and tool calls, and their cost. */
const work: OnEvent<AgentState> = {
  "budget.warning": (state, { dimension, limit, used }) => {
    state.warnings = [...state.warnings, { dimension, limit, used }];
  },
  "budget.reserved": (state, { attempt, costMicros }) => {
    state.reservations = upsert(state.reservations, { attempt, costMicros }, isOf(attempt));
  },
  "cycle.end": giveUpOpenCalls,
  "budget.settled": (state, { attempt, costMicros, inDoubt }) => {
    state.reservations = removeItems(state.reservations, isOf(attempt));
    state.lost = removeItems(state.lost, isOf(attempt));
    state.settledMicros += costMicros;
    if (!inDoubt) return;
    state.inDoubtMicros += costMicros;
    state.lostCalls += 1;
  },
  "budget.denied": (state, event) => {
    state.denial = { ...limitOf(event), reason: event.reason };
    state.waiting = [];
  },
  "budget.waiting": (state, { at, inFlight, step, ...met }) => {
    // A call that waits for a top-up from now on has waited for calls in flight before.
    const { since } = state.waiting.find((each) => each.step === step) ?? { since: at };
    const call = { step, since, inFlight, ...limitOf(met) };
    state.waiting = upsert(state.waiting, call, (each) => each.step === step);
  },
  "budget.topped-up": (state, { tokens, costMicros, turns }) => {
    state.denial = null;
    if (state.limits) state.limits = raiseLimits(state.limits, { tokens, costMicros, turns });
  },
  "model.start": (state, { attempt, model, step, at: since }) => {
    state.waiting = removeItems(state.waiting, (each) => each.step === step);
    state.models = upsert(state.models, { attempt, model, since }, isOf(attempt));
    state.retry = null;
  },
  "model.end": (state, { attempt, usage }) => {
    state.models = removeItems(state.models, isOf(attempt));
    state.calls += 1;
    state.usage = Usage.add(state.usage, usage);
  },
  "retry.start": (state, { at: since, delayMs, error }) => {
    state.retry = { since, delayMs, error };
  },
  "retry.end": (state) => {
    state.retry = null;
  },
  "tool.start": (state, { callId, tool, at: since, attempt }) => {
    const call = { callId, tool, since, spawns: attempt === null, progress: null };
    state.tools = upsert(state.tools, call, (each) => each.callId === callId);
  },
  "tool.end": (state, { callId, diagnostic }) => {
    state.tools = removeItems(state.tools, (each) => each.callId === callId);
    if (diagnostic) state.brokenTools = [...state.brokenTools, diagnostic];
  },
};

/** Calls without an end by now were lost with their worker. Their end may still be reported later. */
function giveUpOpenCalls(state: AgentState): void {
  for (const each of state.reservations) state.lost = upsert(state.lost, each, isOf(each.attempt));
  state.reservations = [];
  state.models = [];
}

function finish(state: AgentState, event: ReeveEvent<"run.end">): void {
  const { status, stopReason, durationMs, usage, costMicros, error = null, diagnostic = null } = event;
  state.end = { status, stopReason, durationMs, usage, costMicros, error, diagnostic };
  state.endedAt = event.at;
  giveUpOpenCalls(state);
  state.tools = [];
  state.approvals = [];
}

const plus = (limit: number | null, by: number): number | null => (limit === null ? null : limit + by);

/** Returns limits after a top-up. A dimension without a limit remains unlimited. */
function raiseLimits(
  { maxCostMicros, maxTokens, maxTurns, deadlineAt }: RunLimits,
  more: Pick<ReeveEvent<"budget.topped-up">, "tokens" | "costMicros" | "turns">,
): RunLimits {
  return {
    maxCostMicros: plus(maxCostMicros, more.costMicros),
    maxTokens: plus(maxTokens, more.tokens),
    maxTurns: plus(maxTurns, more.turns),
    deadlineAt,
  };
}

function limitOf({ dimension, account, owner, limit, used, reserved, inDoubt }: LimitMet): LimitMet {
  return { dimension, account, owner, limit, used, reserved, inDoubt };
}

const isOf =
  (attempt: string | null) =>
  (each: { readonly attempt: string | null }): boolean =>
    each.attempt === attempt;

/** Returns a list with an item in the place of the one that it replaces, else at the end. */
function upsert<Item>(items: readonly Item[], item: Item, isSame: (item: Item) => boolean): readonly Item[] {
  const at = items.findIndex(isSame);
  return at === -1 ? [...items, item] : items.with(at, item);
}

function removeItems<Item>(items: readonly Item[], isGone: (item: Item) => boolean): readonly Item[] {
  return items.some(isGone) ? items.filter((item) => !isGone(item)) : items;
}
