import {
  type RunDelta,
  AgentId,
  ApprovalId,
  Json,
  type NumberedEvent,
  type Priority,
  RunId,
  TreeId,
} from "reeve";
import type { ToolUpdate } from "#runtime";
import { AttemptId, EventId, StepId } from "reeve/store";
import { type EventPayloads, type EventType } from "#kernel";

const beginning = Date.UTC(2026, 10, 15, 9);

/** Records what happens in a tree as its events. */
export class Story {
  readonly treeId = TreeId.of("heat-pumps");
  readonly events: NumberedEvent[] = [];
  /** Progress of tools, for subscribers. */
  readonly deltas: RunDelta[] = [];
  #now = beginning;
  readonly #agents = new Map<RunId, AgentId>();

  get now(): number {
    return this.#now;
  }

  /** The id of the `number`-th run. */
  run(number: number): RunId {
    return RunId.of(this.treeId, number);
  }

  advance(ms: number): this {
    this.#now += ms;
    return this;
  }

  tell<Type extends EventType>(
    run: number,
    type: Type,
    payload: Told<Type>,
    attempt: string | null = null,
  ): this {
    const seq = this.events.length + 1;
    const runId = this.run(run);
    const filled = { step: StepId.of(runId, "step", seq), traceId: "trace" };
    const base = {
      eventId: EventId.of(runId, `${type}/${seq}`),
      treeId: this.treeId,
      runId,
      agent: this.#agents.get(runId) ?? AgentId.of("unknown"),
      at: this.#now,
      attempt: attempt === null ? null : AttemptId.of(attempt),
    };
    // The type parameter ties type and payload together; the union has lost that.
    this.events.push(Json.as<NumberedEvent>(Json.of({ ...filled, ...payload, ...base, type, seq })));
    return this;
  }

  updates(run: number, update: ToolUpdate): this {
    const runId = this.run(run);
    const place = { runId, step: StepId.of(runId, "tool", 1), attempt: AttemptId.of("t1") };
    this.deltas.push({ ...place, kind: "tool-update", text: "", update });
    return this;
  }

  starts(run: number, agent: string, { priority = "normal", parent = null }: Beginning = {}): this {
    this.#agents.set(this.run(run), AgentId.parse(agent));
    const parentRunId = parent === null ? null : this.run(parent);
    if (parent !== null)
      this.tell(parent, "spawn.admitted", {
        child: this.run(run),
        childAgent: AgentId.parse(agent),
        priority,
      });
    return this.tell(run, "run.start", { priority, parentRunId });
  }

  /** A call that reserves and, unless it is still on its way, settles. */
  asks(
    run: number,
    call: string,
    { reserve = 90_000, cost }: { readonly reserve?: number; readonly cost?: number },
  ): this {
    this.tell(run, "budget.reserved", { tokens: 5_000, costMicros: reserve }, call);
    this.tell(run, "model.start", { model: "claude-sonnet-4-5" }, call);
    return cost === undefined ? this : this.answers(run, call, cost);
  }

  /** Adds a call refused by a limit. Default: the tree's, which is used up. */
  denies(run: number, met: Denied): this {
    const account = met.account ?? "tree";
    const own = account === "run" ? this.run(run) : account === "subtree" ? this.run(0) : null;
    const rest = { account, owner: own, reserved: 0, inDoubt: 0, reason: "exhausted" } as const;
    return this.tell(run, "budget.denied", { ...rest, ...met });
  }

  /** Adds a call that waits for `inFlight` others, which hold 0.27 of 0.30 dollars. */
  waitsForBudget(run: number, inFlight: number, step = StepId.of(this.run(run), "model", 1)): this {
    const met = { dimension: "cost", account: "tree", owner: null, limit: 300_000 } as const;
    const used = { used: 275_000, reserved: 270_000, inDoubt: 0 };
    return this.tell(run, "budget.waiting", { ...met, ...used, inFlight, step });
  }

  answers(run: number, call: string, cost: number): this {
    this.advance(800);
    this.tell(run, "budget.settled", { tokens: cost / 5, costMicros: cost, inDoubt: false }, call);
    const usage = { input: cost / 5 - 40, output: 40 };
    return this.tell(run, "model.end", { model: "claude-sonnet-4-5", usage, durationMs: 800 }, call);
  }

  ends(run: number, end: Partial<EventPayloads["run.end"]> & { readonly costMicros: number }): this {
    const usage = { input: end.costMicros / 5, output: 80 };
    return this.tell(run, "run.end", {
      status: "completed",
      stopReason: "answer",
      durationMs: 2_400,
      usage,
      ...end,
    });
  }
}

/** The fields a story gives for an event; the rest is filled in. */
type Told<Type extends EventType> = Type extends "cycle.start" | "cycle.end"
  ? EventPayloads[Type]
  : Omit<EventPayloads[Type], "step" | "traceId"> & { readonly step?: StepId };

type Denied = Pick<EventPayloads["budget.denied"], "dimension" | "limit" | "used"> &
  Partial<Omit<EventPayloads["budget.denied"], "owner">>;

interface Beginning {
  readonly priority?: Priority;
  readonly parent?: number | null;
}

/** A parent with two children: one has answered, one waits for approval. */
export function askingTeam(): Story {
  const story = new Story();
  story.starts(0, "lead").asks(0, "a1", { cost: 3_700 });
  story.tell(0, "tool.start", { tool: "ask_researcher", callId: "c1" });
  story.starts(1, "researcher", { parent: 0 }).asks(1, "b1", { cost: 1_670 }).asks(1, "b2", { cost: 1_775 });
  story.tell(0, "tool.end", { tool: "ask_researcher", callId: "c1", status: "ok", durationMs: 1_600 });
  story.ends(1, { costMicros: 3_445 }).asks(0, "a2", { cost: 5_000 });
  story.tell(0, "tool.start", { tool: "ask_writer", callId: "c2" });
  story.starts(2, "writer", { parent: 0, priority: "high" }).asks(2, "d1", { cost: 2_990 });
  story.advance(100).tell(2, "approval.requested", {
    approvalId: approval,
    tool: "send_email",
    why: "the policy requires approval of send_email (risk: high)",
  });
  return story.advance(125_000);
}

/** The writer's question. */
export const approval = ApprovalId.parse("heat-pumps~2:tool:2");
