import {
  type Json,
  type NumberedEvent,
  RunId,
  type RunStatus,
  type TreeId,
  type TreeLimits,
  Usage,
} from "#kernel";
import { valueText } from "#base";
import { activityOf, extendLane, statusOf } from "./activity.ts";
import { type AgentState, createAgentState, type SpawnedAgent } from "./agent-state.ts";
import type { AgentView, TreeCounts, TreeView } from "./agent-view.ts";
import { applyEvent } from "./apply-event.ts";
import { dispatch, type OnEvent } from "./on-event.ts";

/**
 * A tree up to one event, as JSON. `TreeModel.from` continues from it with the events after `seq`. Each agent precedes
 * its children, which are in the order in which they were spawned.
 */
export interface TreeSnapshot {
  readonly treeId: TreeId;
  readonly seq: number;
  readonly at: number;
  readonly startedAt: number;
  readonly limits: TreeLimits | null;
  readonly agents: readonly AgentState[];
}

/** The progress of a tool call. */
export interface ProgressUpdate {
  readonly runId: RunId;
  readonly update?: { readonly callId: string; readonly progress: Json } | undefined;
}

interface Node {
  readonly state: AgentState;
  readonly parent: Node | null;
  readonly children: Node[];
  /** Null: to be built from the state. */
  view: AgentView | null;
  /** The version of the model at the last change of the view. */
  version: number;
}

/**
 * The reducer from events to views, for terminal, server and page.
 * 1. Events are applied in order, each once: a repeated event changes nothing.
 * 2. All state is in `AgentState`, which is JSON. A snapshot at any event, continued with the later events, equals a
 * model built from all events.
 * 3. An event creates new views of its run and of its ancestors. All other views remain the same objects.
 */
export class TreeModel {
  readonly treeId: TreeId;
  readonly #nodes = new Map<RunId, Node>();
  #seq = 0;
  #version = 0;
  #at = 0;
  #startedAt = 0;
  #limits: TreeLimits | null = null;

  constructor(treeId: TreeId) {
    this.treeId = treeId;
  }

  /** Creates the model of a tree from its events. @throws TypeError if there are none. */
  static of(events: readonly NumberedEvent[]): TreeModel {
    const [first] = events;
    if (!first) throw new TypeError("a tree without events");
    const model = new TreeModel(first.treeId);
    for (const event of events) model.apply(event);
    return model;
  }

  /** Creates the model that a snapshot was taken from. */
  static from({ treeId, seq, at, startedAt, limits, agents }: TreeSnapshot): TreeModel {
    const model = new TreeModel(treeId);
    for (const state of agents) model.#add({ ...state });
    model.#seq = seq;
    model.#at = at;
    model.#startedAt = startedAt;
    model.#limits = limits;
    return model;
  }

  /** The number of the last event. */
  get seq(): number {
    return this.#seq;
  }

  /** A number that grows whenever a view changes. */
  get version(): number {
    return this.#version;
  }

  /** The time of the last event. */
  get at(): number {
    return this.#at;
  }

  /** The root with all below it; null before the first event. */
  get root(): AgentView | null {
    const node = this.#nodes.get(RunId.root(this.treeId));
    return node ? getView(node) : null;
  }

  /** Limits shared by all runs. Null if unknown. */
  get limits(): TreeLimits | null {
    return this.#limits;
  }

  /** The whole tree; null before the first event. */
  get view(): TreeView | null {
    const { treeId, root } = this;
    if (!root) return null;
    return {
      treeId,
      seq: this.#seq,
      at: this.#at,
      startedAt: this.#startedAt,
      limits: this.#limits,
      root,
      counts: countsOf(root),
    };
  }

  /** Returns the view of a run. Null if unknown. */
  agent(run: RunId): AgentView | null {
    const node = this.#nodes.get(run);
    return node ? getView(node) : null;
  }

  /** Returns the views that changed after a version, each parent before its children. */
  changedSince(version: number): readonly AgentView[] {
    return [...this.#nodes.values()].filter((node) => node.version > version).map(getView);
  }

  /** Returns the whole state as JSON. It does not change with the model. */
  snapshot(): TreeSnapshot {
    return {
      treeId: this.treeId,
      seq: this.#seq,
      at: this.#at,
      startedAt: this.#startedAt,
      limits: this.#limits,
      agents: [...this.#nodes.values()].map(({ state }) => Object.assign({}, state)),
    };
  }

  /** Applies the next event. An event applied before changes nothing. */
  apply(event: NumberedEvent): void {
    if (event.seq <= this.#seq) return;
    this.#seq = event.seq;
    this.#at = event.at;
    this.#version += 1;
    if (this.#nodes.size === 0) this.#startedAt = event.at;
    dispatch(this.#on, null, event);
    const node = this.#nodes.get(event.runId);
    if (!node) return;
    applyEvent(node.state, event);
    this.#refresh(node, event.at);
    // The work of a parent depends on which of its children live.
    if (node.parent && (event.type === "run.start" || event.type === "run.end"))
      this.#refresh(node.parent, event.at);
  }

  /** Applies the progress of a tool call. Pieces of answers change nothing here. */
  applyDelta({ runId, update }: ProgressUpdate): void {
    const node = this.#nodes.get(runId);
    if (!update || !node) return;
    this.#version += 1;
    const progress = valueText(update.progress);
    node.state.tools = node.state.tools.map((tool) =>
      tool.callId === update.callId ? { ...tool, progress } : tool,
    );
    this.#refresh(node, this.#at);
  }

  readonly #on: OnEvent<null> = {
    "run.start": (_, { runId, agent, parentRunId, priority, at, treeLimits }) => {
      this.#know({ runId, agent, parentRunId, priority, at });
      if (treeLimits) this.#limits = treeLimits;
    },
    "spawn.admitted": (_, { child, childAgent, runId, priority, at }) => {
      this.#know({ runId: child, agent: childAgent, parentRunId: runId, priority, at });
    },
    "spawn.queued": (_, { child, childAgent, runId, victim, at }) => {
      // Its start event brings its priority.
      const spawned = { runId: child, agent: childAgent, parentRunId: runId, at };
      const node = this.#know({ ...spawned, priority: "normal" });
      node.state.queued = { since: at, victim };
      this.#refresh(node, at);
      const giving = victim && this.#nodes.get(victim);
      if (!giving) return;
      giving.state.takenBy = child;
      this.#refresh(giving, at);
    },
    "budget.topped-up": (_, { runId, tokens, costMicros }) => {
      if (runId !== RunId.root(this.treeId) || !this.#limits) return;
      const { maxCostMicros, maxTokens } = this.#limits;
      this.#limits = {
        ...this.#limits,
        maxCostMicros: maxCostMicros === null ? null : maxCostMicros + costMicros,
        maxTokens: maxTokens === null ? null : maxTokens + tokens,
      };
    },
  };

  #know(spawned: SpawnedAgent): Node {
    const known = this.#nodes.get(spawned.runId);
    if (known) return known;
    const node = this.#add(createAgentState(spawned));
    this.#refresh(node, spawned.at);
    return node;
  }

  #add(state: AgentState): Node {
    const parent = (state.parentRunId && this.#nodes.get(state.parentRunId)) || null;
    const node: Node = { state, parent, children: [], view: null, version: this.#version };
    this.#nodes.set(state.runId, node);
    parent?.children.push(node);
    return node;
  }

  /** Brings activity and lane up to date, and lets go of the views that show them. */
  #refresh(node: Node, at: number): void {
    const { state } = node;
    const live = node.children.map((child) => child.state).filter(({ end }) => end === null);
    state.activity = activityOf(state, live);
    state.lane = extendLane(state.lane, state.activity, Math.max(0, at - this.#startedAt));
    for (let each: Node | null = node; each; each = each.parent) {
      each.view = null;
      each.version = this.#version;
    }
  }
}

/** Yields a run and all below it, each before its own children. */
export function* allAgents(root: AgentView): Generator<AgentView, void> {
  yield root;
  for (const child of root.children) yield* allAgents(child);
}

function getView(node: Node): AgentView {
  node.view ??= createView(node.state, node.children.map(getView));
  return node.view;
}

function createView(state: AgentState, children: readonly AgentView[]): AgentView {
  const sum = (of: (view: AgentView) => number): number => children.reduce((all, view) => all + of(view), 0);
  const { runId, parentRunId, agent, priority, end, usage } = state;
  const feared = totalOf(state.lost);
  const below = sum(({ costMicros }) => costMicros);
  // A run's end may include calls that the stream does not; its descendants may book more after it.
  const own = Math.max(state.settledMicros + feared, (end?.costMicros ?? 0) - below);
  const inDoubt = state.inDoubtMicros + feared;
  const asks = state.approvals.map((ask) => ({ ...ask, runId, agent }));
  return {
    runId,
    parentRunId,
    agent,
    priority,
    status: statusOf(state),
    activity: state.activity,
    startedAt: state.startedAt ?? state.spawnedAt,
    end,
    limits: state.limits,
    version: state.version,
    own: { calls: state.calls, usage, costMicros: own, inDoubtMicros: inDoubt },
    costMicros: own + below,
    inDoubtMicros: inDoubt + sum((view) => view.inDoubtMicros),
    reservedMicros: totalOf(state.reservations) + sum((view) => view.reservedMicros),
    tokens: end ? Usage.tokens(end.usage) : Usage.tokens(usage) + sum(({ tokens }) => tokens),
    agents: 1 + sum(({ agents }) => agents),
    liveAgents: (end ? 0 : 1) + sum(({ liveAgents }) => liveAgents),
    asks: asks.concat(...children.map((child) => child.asks)),
    cancelReason: state.cancelling?.reason ?? null,
    denial: state.denial,
    warnings: state.warnings,
    guardrail: state.guardrail,
    refusedSpawns: state.refusedSpawns,
    deadLetters: state.deadLetters,
    brokenTools: state.brokenTools,
    lostCalls: state.lostCalls + state.lost.length,
    lane: state.lane,
    children,
  };
}

const totalOf = (costs: AgentState["lost"]): number =>
  costs.reduce((sum, { costMicros }) => sum + costMicros, 0);

function countsOf(root: AgentView): TreeCounts {
  const byStatus: Record<RunStatus, number> = {
    pending: 0,
    running: 0,
    waiting: 0,
    paused: 0,
    completed: 0,
    landed: 0,
    failed: 0,
    cancelled: 0,
  };
  let calls = 0;
  for (const { status, own } of allAgents(root)) {
    byStatus[status] += 1;
    calls += own.calls;
  }
  return { agents: root.agents, live: root.liveAgents, asks: root.asks.length, calls, byStatus };
}
