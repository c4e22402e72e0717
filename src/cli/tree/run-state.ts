import {
  type Diagnostic,
  type AgentId,
  type ApprovalId,
  type AttemptId,
  type ErrorData,
  type LimitMet,
  type Micros,
  type NumberedEvent,
  type Priority,
  type ReeveEvent,
  type RunId,
  type RunStatus,
  Usage,
} from "#kernel";
import { valueText } from "#base";
import type { ToolUpdate } from "#runtime";
import { dispatch, type OnEvent } from "./on-event.ts";
import type { Activity, DeadLetter, Denial, RefusedHire, RunEnd, RunView, Warned } from "./run-view.ts";

interface OpenTool {
  readonly tool: string;
  readonly since: number;
  /** A tool that hires or waits, and so has no attempt of its own. */
  readonly runs: boolean;
  progress: string | null;
}

/** What a boss says about somebody it hires. */
export interface Hired {
  readonly runId: RunId;
  readonly parentRunId: RunId | null;
  readonly agent: AgentId;
  readonly priority: Priority;
  readonly at: number;
}

/** One run as its events tell it. */
export class RunState {
  readonly hired: Hired;
  readonly helpers: RunState[] = [];
  #priority: Priority;
  #startedAt: number | null = null;
  #queued: { readonly since: number; readonly victim: RunId | null } | null = null;
  #end: RunEnd | null = null;
  #endedAt = 0;
  #calls = 0;
  #usage: Usage = Usage.none;
  #settled: Micros = 0;
  #inDoubt: Micros = 0;
  /** Calls that nobody heard of again when their cycle ended: booked at their ceiling. */
  readonly #lost = new Map<AttemptId | null, Micros>();
  readonly #reservations = new Map<AttemptId | null, Micros>();
  readonly #models = new Map<AttemptId | null, { readonly model: string; readonly since: number }>();
  readonly #tools = new Map<string, OpenTool>();
  readonly #approvals = new Map<
    ApprovalId,
    { readonly tool: string; readonly why: string; readonly since: number }
  >();
  #retry: { readonly since: number; readonly delayMs: number; readonly error: ErrorData } | null = null;
  #paused: Pick<Activity & { readonly kind: "paused" }, "since" | "cause" | "reason"> | null = null;
  #takenBy: RunId | null = null;
  #cancelling: { readonly since: number; readonly reason: string } | null = null;
  #denial: Denial | null = null;
  /** By step: the calls that wait for money. */
  readonly #waiting = new Map<string, Activity & { readonly kind: "budget" }>();
  readonly #warnings: Warned[] = [];
  #guardrail: RunView["guardrail"] = null;
  readonly #refusedHires: RefusedHire[] = [];
  readonly #deadLetters: DeadLetter[] = [];
  readonly #brokenTools: Diagnostic[] = [];
  #lostCalls = 0;
  #lastAt: number;

  constructor(hired: Hired) {
    this.hired = hired;
    this.#priority = hired.priority;
    this.#lastAt = hired.at;
  }

  /** It waits for a slot; `victim` must give its own up first. */
  queue(since: number, victim: RunId | null): void {
    this.#queued = { since, victim };
  }

  /** Somebody more important is to have its slot. */
  giveWay(to: RunId): void {
    this.#takenBy = to;
  }

  apply(event: NumberedEvent): void {
    this.#lastAt = event.at;
    dispatch(this.#life, event);
    dispatch(this.#work, event);
  }

  readonly #life: OnEvent = {
    "run.start": ({ at, priority }) => {
      this.#startedAt ??= at;
      this.#priority = priority;
      this.#queued = null;
    },
    "run.end": (event) => this.#finish(event),
    "run.paused": ({ at: since, cause, reason = null }) => {
      this.#paused = { since, cause, reason };
    },
    "run.resumed": () => {
      this.#paused = null;
      this.#takenBy = null;
    },
    "run.reprioritized": ({ to }) => {
      this.#priority = to;
    },
    "run.cancelling": ({ at: since, reason }) => {
      this.#cancelling = { since, reason };
    },
    "approval.requested": ({ approvalId, tool, why, at: since }) => {
      this.#approvals.set(approvalId, { tool, why, since });
    },
    "approval.decided": ({ approvalId }) => {
      this.#approvals.delete(approvalId);
    },
    "spawn.denied": ({ childAgent: agent, reason }) => {
      this.#refusedHires.push({ agent, reason });
    },
    "message.dead-lettered": ({ reason, attempts }) => {
      this.#deadLetters.push({ reason, attempts });
    },
    "guardrail.trip": ({ guardrail, reason, decision }) => {
      // The others let the run go on.
      if (decision === "halt" || decision === "block") this.#guardrail = { guardrail, reason };
    },
  };

  /** Model and tool calls, and what they cost. */
  readonly #work: OnEvent = {
    "budget.warning": ({ dimension, limit, used }) => {
      this.#warnings.push({ dimension, limit, used });
    },
    "budget.reserved": ({ attempt, costMicros: cost }) => {
      this.#reservations.set(attempt, cost);
    },
    "cycle.end": () => this.#giveUpOpenCalls(),
    "budget.settled": ({ attempt, costMicros: cost, inDoubt }) => {
      this.#reservations.delete(attempt);
      this.#lost.delete(attempt);
      this.#settled += cost;
      if (!inDoubt) return;
      this.#inDoubt += cost;
      this.#lostCalls += 1;
    },
    "budget.denied": (event) => {
      this.#denial = { ...limitOf(event), reason: event.reason };
      this.#waiting.clear();
    },
    "budget.waiting": ({ at: since, inFlight, step, ...met }) => {
      this.#waiting.set(step, { kind: "budget", since, inFlight, ...limitOf(met) });
    },
    "budget.topped-up": () => {
      this.#denial = null;
    },
    "model.start": ({ attempt, model, step, at: since }) => {
      this.#waiting.delete(step);
      this.#models.set(attempt, { model, since });
      this.#retry = null;
    },
    "model.end": ({ attempt, usage }) => {
      this.#models.delete(attempt);
      this.#calls += 1;
      this.#usage = Usage.add(this.#usage, usage);
    },
    "retry.start": ({ at: since, delayMs, error }) => {
      this.#retry = { since, delayMs, error };
    },
    "retry.end": () => {
      this.#retry = null;
    },
    "tool.start": ({ callId, tool, at: since, attempt }) => {
      this.#tools.set(callId, { tool, since, runs: attempt === null, progress: null });
    },
    "tool.end": ({ callId, diagnostic }) => {
      this.#tools.delete(callId);
      if (diagnostic) this.#brokenTools.push(diagnostic);
    },
  };

  /** A tool tells how far its call has come. */
  hear({ callId, progress }: ToolUpdate): void {
    const open = this.#tools.get(callId);
    if (open) open.progress = valueText(progress);
  }

  /** Whatever has not come back by now was lost with its worker. It may still be heard of. */
  #giveUpOpenCalls(): void {
    for (const [attempt, cost] of this.#reservations) this.#lost.set(attempt, cost);
    this.#reservations.clear();
    this.#models.clear();
  }

  #finish(event: ReeveEvent<"run.end">): void {
    const {
      status,
      stopReason,
      durationMs,
      usage,
      costMicros: cost,
      error = null,
      diagnostic = null,
    } = event;
    this.#end = { status, stopReason, durationMs, usage, cost, error, diagnostic };
    this.#endedAt = event.at;
    this.#giveUpOpenCalls();
    for (const open of [this.#tools, this.#approvals]) open.clear();
  }

  view(): RunView {
    const helpers = this.helpers.map((helper) => helper.view());
    const sum = (of: (view: RunView) => number): number => helpers.reduce((all, view) => all + of(view), 0);
    const reserved = total(this.#reservations);
    const feared = total(this.#lost);
    const activity = this.#activity(helpers);
    const booked = this.#settled + feared;
    const below = sum(({ cost }) => cost);
    // Its end may tell of calls that the stream does not; those below may book more after it.
    const own = Math.max(booked, (this.#end?.cost ?? 0) - below);
    const inDoubt = this.#inDoubt + feared;
    return {
      runId: this.hired.runId,
      parentRunId: this.hired.parentRunId,
      agent: this.hired.agent,
      priority: this.#priority,
      status: this.#end?.status ?? statusOf(activity),
      activity,
      startedAt: this.#startedAt ?? this.hired.at,
      end: this.#end,
      own: {
        calls: this.#calls,
        usage: this.#usage,
        cost: own,
        inDoubt,
      },
      cost: own + below,
      inDoubt: inDoubt + sum((view) => view.inDoubt),
      reserved: reserved + sum((view) => view.reserved),
      tokens: this.#end
        ? Usage.tokens(this.#end.usage)
        : Usage.tokens(this.#usage) + sum(({ tokens }) => tokens),
      cancelReason: this.#cancelling?.reason ?? null,
      denial: this.#denial,
      warnings: this.#warnings,
      guardrail: this.#guardrail,
      refusedHires: this.#refusedHires,
      deadLetters: this.#deadLetters,
      brokenTools: this.#brokenTools,
      lostCalls: this.#lostCalls + this.#lost.size,
      helpers,
    };
  }

  /** What holds it up comes before what it does: a reader wants to know why nothing moves. */
  #activity(helpers: readonly RunView[]): Activity {
    if (this.#end) return { kind: "ended", since: this.#endedAt };
    if (this.#cancelling) return { kind: "cancelling", ...this.#cancelling };
    if (this.#paused) return { kind: "paused", ...this.#paused, by: this.#takenBy };
    if (this.#queued) return { kind: "queued", ...this.#queued };
    if (this.#startedAt === null) return { kind: "starting", since: this.hired.at };
    const [asked] = this.#approvals;
    if (asked) return { kind: "approval", id: asked[0], ...asked[1] };
    if (this.#retry) return { kind: "retry", ...this.#retry };
    // The latest: an earlier one may have been lost with its worker.
    const model = [...this.#models.values()].at(-1);
    if (model) return { kind: "model", ...model };
    const [waiting] = this.#waiting.values();
    if (waiting) return waiting;
    return this.#atTools(helpers) ?? { kind: "between", since: this.#lastAt };
  }

  #atTools(helpers: readonly RunView[]): Activity | null {
    const open = [...this.#tools.values()];
    const [first] = open;
    if (!first) return null;
    const since = Math.min(...open.map((tool) => tool.since));
    const alive = helpers.filter(({ end }) => end === null);
    if (open.every(({ runs }) => runs) && alive.length > 0)
      return { kind: "helpers", since, agents: alive.map(({ agent }) => agent) };
    const progress = open.findLast((tool) => tool.progress !== null)?.progress ?? null;
    return { kind: "tool", since, tools: open.map(({ tool }) => tool), progress };
  }
}

function limitOf({ dimension, account, owner, limit, used, reserved, inDoubt }: LimitMet): LimitMet {
  return { dimension, account, owner, limit, used, reserved, inDoubt };
}

function statusOf({ kind }: Activity): RunStatus {
  if (kind === "queued" || kind === "starting") return "pending";
  if (kind === "paused") return "paused";
  const isWaiting = kind === "approval" || kind === "helpers" || kind === "retry" || kind === "budget";
  return isWaiting ? "waiting" : "running";
}

function total(amounts: ReadonlyMap<AttemptId | null, Micros>): Micros {
  return amounts.values().reduce((sum, cost) => sum + cost, 0);
}
