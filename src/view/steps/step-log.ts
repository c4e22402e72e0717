// The steps of runs, built from events: model calls and tool calls with their attempts, cost and decisions.
// Job: fold events into steps, for lists of steps and for the figures of one step. Events remain when content is
// erased, and need no right to read content, so these figures can always be shown.
// Neighbours: the manifest of a step has its content and price.
// Invariants:
// 1. Events are applied in order; an event applied before changes nothing.
// 2. An attempt belongs to the step that `model.start` or `tool.start` names. Cost reported earlier is held until then.
// 3. An event that names no attempt belongs to the open tool of its run if there is one, else to its last step.
import {
  type AgentId,
  type AttemptId,
  type ErrorData,
  type Micros,
  type NumberedEvent,
  type ReeveEvent,
  type RunId,
  type StepDecision,
  StepId,
  type Usage,
} from "#kernel";
import { dispatch, type OnEvent } from "../on-event.ts";
import { formatCounted, usd } from "../words/amounts.ts";

/** One attempt of a step, built from events. */
interface AttemptFigures {
  /** Null: a tool that spawns or waits has no attempt of its own. */
  readonly attempt: AttemptId | null;
  readonly at: number;
  /** Null: it has not ended. */
  readonly ms: number | null;
  /** Null for a tool, or if it was not reported. */
  readonly usage: Usage | null;
  readonly error: ErrorData | null;
  readonly reservedMicros: Micros;
  /** Null: not settled. */
  readonly settledMicros: Micros | null;
  readonly isInDoubt: boolean;
}

/** A decision about a step, with the number of its event. */
interface EventDecision extends StepDecision {
  readonly seq: number;
  readonly at: number;
}

/** The state of a step. `lost`: it was started again, or its run ended, before its end was reported. */
export type StepState = "running" | "completed" | "failed" | "unknown" | "lost";

/** A model call or a tool call, built from events. */
export interface StepFigures {
  readonly stepId: StepId;
  readonly runId: RunId;
  readonly agent: AgentId;
  readonly kind: "model" | "tool";
  /** The name of the model or tool. */
  readonly name: string;
  /** The model's own name for the call of a tool. */
  readonly callId: string | null;
  readonly at: number;
  readonly seq: number;
  readonly state: StepState;
  readonly attempts: readonly AttemptFigures[];
  readonly decisions: readonly EventDecision[];
}

interface RunSteps {
  readonly steps: Map<StepId, StepFigures>;
  /** The steps of attempts, and of calls without one. */
  readonly byAttempt: Map<string, StepId>;
  /** Cost and decisions reported before the start of their step. */
  readonly reserved: Map<string, { readonly costMicros: Micros; readonly decision: EventDecision }>;
  readonly early: Map<StepId, readonly EventDecision[]>;
  /** The number and time of the event that is applied. */
  seq: number;
  at: number;
  last: StepId | null;
  lastModel: StepId | null;
}

type AttemptKey = Pick<NumberedEvent, "attempt"> & { readonly callId?: string };

const toAttemptKey = ({ attempt, callId }: AttemptKey): string => attempt ?? `call ${callId}`;

/** All steps of one tree, from its events. */
export class StepLog {
  readonly #runs = new Map<RunId, RunSteps>();
  #seq = 0;

  /** The number of the last event. */
  get seq(): number {
    return this.#seq;
  }

  /** Applies the next event. An event applied before changes nothing. */
  apply(event: NumberedEvent): void {
    if (event.seq <= this.#seq) return;
    this.#seq = event.seq;
    let run = this.#runs.get(event.runId);
    if (!run) {
      const none = { steps: new Map(), byAttempt: new Map(), reserved: new Map(), early: new Map() };
      run = { ...none, seq: 0, at: 0, last: null, lastModel: null };
      this.#runs.set(event.runId, run);
    }
    run.seq = event.seq;
    run.at = event.at;
    dispatch(handlers, run, event);
  }

  /** Returns the steps of a run, or of all runs, in the order in which they began. */
  steps(run?: RunId): readonly StepFigures[] {
    const steps: StepFigures[] = [];
    for (const [id, each] of this.#runs)
      if (run === undefined || id === run) steps.push(...each.steps.values());
    return steps.toSorted((one, other) => one.seq - other.seq);
  }
}

/** Returns the money of a step: booked, and held by an attempt in flight. */
export function costOf({ attempts }: Pick<StepFigures, "attempts">): {
  readonly settledMicros: Micros;
  readonly reservedMicros: Micros;
} {
  return {
    settledMicros: attempts.reduce((sum, { settledMicros }) => sum + (settledMicros ?? 0), 0),
    reservedMicros: attempts.reduce(
      (sum, { settledMicros, reservedMicros }) => sum + (settledMicros === null ? reservedMicros : 0),
      0,
    ),
  };
}

const handlers: OnEvent<RunSteps> = {
  "model.start": (run, event) => beginStep(run, event, { name: event.model, callId: null }),
  "tool.start": (run, event) => beginStep(run, event, { name: event.tool, callId: event.callId }),
  "model.end": (run, event) => {
    const { usage, durationMs: ms, error = null } = event;
    end(run, event, { usage, ms, error }, error ? "failed" : "completed");
  },
  "tool.end": (run, event) => {
    const state = { ok: "completed", error: "failed", unknown: "unknown" } as const;
    end(run, event, { ms: event.durationMs }, state[event.status]);
  },
  "budget.reserved": (run, event) => {
    const { tokens, costMicros } = event;
    const text = `reserved ${usd(costMicros)} for ${formatCounted(tokens, "token")}`;
    const decision = decisionOf(run, { by: "budget", layer: "gate", decision: text });
    run.reserved.set(toAttemptKey(event), { costMicros, decision });
  },
  "budget.settled": (run, event) => {
    const { costMicros: settledMicros, inDoubt, reconciled = false } = event;
    changeAttempt(run, event, { settledMicros, isInDoubt: inDoubt });
    const how = reconciled ? "reported later" : inDoubt ? "in doubt: booked at its ceiling" : "settled";
    noteDecision(run, stepOf(run, event), {
      by: "budget",
      layer: "gate",
      decision: `${how}, ${usd(settledMicros)}`,
    });
  },
  "budget.waiting": (run, event) =>
    noteDecision(run, event.step, {
      by: "budget",
      layer: "gate",
      decision: event.inFlight === 0 ? "waited for a top-up" : "waited for calls in flight",
    }),
  "guardrail.trip": (run, event) => {
    const { guardrail: by, decision, reason } = event;
    noteDecision(run, openTool(run) ?? run.last, { by, layer: "guardrail", decision, reason });
  },
  "permission.denied": (run, event) => {
    const { tool, reason } = event;
    noteDecision(run, run.lastModel, { by: tool, layer: "permission", decision: "denied", reason });
  },
  "approval.requested": (run, event) => {
    const { tool: by, why: reason, approvalId } = event;
    const step = StepId.is(approvalId) ? approvalId : run.last;
    noteDecision(run, step, { by, layer: "approval", decision: "asked for approval", reason });
  },
  "approval.decided": (run, event) => {
    const { approvalId, decision, by } = event;
    const step = StepId.is(approvalId) ? approvalId : run.last;
    noteDecision(run, step, { by, layer: "approval", decision });
  },
  "run.end": (run) => {
    for (const [id, step] of run.steps)
      if (step.state === "running") run.steps.set(id, { ...step, state: "lost" });
  },
};

function beginStep(
  run: RunSteps,
  event: ReeveEvent<"model.start" | "tool.start">,
  { name, callId }: Pick<StepFigures, "name" | "callId">,
): void {
  const { step: stepId, runId, agent, at, attempt } = event;
  const { seq } = run;
  const kind = event.type === "model.start" ? "model" : "tool";
  const key = toAttemptKey(event);
  const reserved = run.reserved.get(key);
  run.reserved.delete(key);
  const made: AttemptFigures = {
    attempt,
    at,
    ms: null,
    usage: null,
    error: null,
    reservedMicros: reserved?.costMicros ?? 0,
    settledMicros: null,
    isInDoubt: false,
  };
  const known = run.steps.get(stepId);
  const early = [...(run.early.get(stepId) ?? []), ...(reserved ? [reserved.decision] : [])];
  run.early.delete(stepId);
  const base = known ?? { stepId, runId, agent, kind, name, callId, at, seq, attempts: [], decisions: [] };
  run.steps.set(stepId, {
    ...base,
    state: "running",
    attempts: [...base.attempts, made],
    decisions: [...base.decisions, ...early],
  });
  run.byAttempt.set(key, stepId);
  run.last = stepId;
  if (kind === "model") run.lastModel = stepId;
}

function end(run: RunSteps, event: AttemptKey, change: Partial<AttemptFigures>, state: StepState): void {
  changeAttempt(run, event, change);
  const id = stepOf(run, event);
  const step = id && run.steps.get(id);
  if (step) run.steps.set(id, { ...step, state });
}

function stepOf(run: RunSteps, event: AttemptKey): StepId | null {
  return run.byAttempt.get(toAttemptKey(event)) ?? null;
}

function changeAttempt(run: RunSteps, event: AttemptKey, change: Partial<AttemptFigures>): void {
  const id = stepOf(run, event);
  const step = id && run.steps.get(id);
  if (!step) return;
  const at = step.attempts.findLastIndex(({ attempt }) => attempt === event.attempt);
  const attempts = step.attempts.map((each, index) => (index === at ? { ...each, ...change } : each));
  run.steps.set(id, { ...step, attempts });
}

function openTool(run: RunSteps): StepId | null {
  const open = [...run.steps.values()].filter(({ kind, state }) => kind === "tool" && state === "running");
  return open.length === 1 ? (open[0]?.stepId ?? null) : null;
}

function decisionOf({ seq, at }: RunSteps, decision: StepDecision): EventDecision {
  return { ...decision, seq, at };
}

/** Adds a decision to a step, even before its start: approval is requested before a tool is called. */
function noteDecision(run: RunSteps, id: StepId | null, decision: StepDecision): void {
  if (!id) return;
  const made = decisionOf(run, decision);
  const step = run.steps.get(id);
  if (step) run.steps.set(id, { ...step, decisions: [...step.decisions, made] });
  else run.early.set(id, [...(run.early.get(id) ?? []), made]);
}
