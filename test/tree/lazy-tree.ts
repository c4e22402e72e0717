import {
  AgentId,
  AttemptId,
  type BatchedCall,
  type BatchedReply,
  type EventType,
  type ExecutionBudget,
  MessageId,
  type NumberedEvent,
  type ReeveEvent,
  RunId,
  SessionId,
  SpawnBudget,
  StepId,
  TreeId,
  Json,
  type JsonObject,
} from "#kernel";
import type { Slot } from "#ledger";
import type { ArgumentOf, ReplyOf, TreeMethod } from "../../src/tree/protocol.ts";
import { defaultBacklogs } from "../../src/tree/state/backlogs.ts";
import type { EndReport, RunRecord, TreeDeps } from "../../src/tree/state/records.ts";
import { decodeRun, decodeSlot, runKey, slotKey } from "../../src/tree/state/stored-run.ts";
import { withBatch } from "../../src/tree/methods/batch.ts";
import { TreeSecret } from "../../src/tree/tree-secret.ts";
import { treeObject } from "../../src/tree/tree-object.ts";
import { eventsOf } from "../agents/events-of.ts";
import { type Cost, LazyObject } from "./lazy-object.ts";

const terms = {
  version: "1",
  priority: "normal",
  budget: null,
  retention: "run",
  tools: null,
} as const;

/** The agents of a {@link LazyTree}. */
const agentsOfTrees = { parent: terms, child: terms };

/** The launch policy of a {@link LazyTree}. */
export const policyOfTrees = {
  approver: "none",
  approvalExpiresS: 60,
  ruleOfTwo: "ask",
  guardrailHooks: [],
  functionLayers: false,
  hasHooks: false,
} as const;

/** The dependencies of a {@link LazyTree}. */
export const depsOfTrees = {
  agents: agentsOfTrees,
  eraseAfterMs: 30_000,
  backlogs: defaultBacklogs,
  policyOf: () => policyOfTrees,
};

/** A tree on a {@link LazyObject}, with a parent as its root and children below it. */
export class LazyTree {
  readonly object: LazyObject;
  readonly root: RunId;
  /** The argument that opened it. */
  readonly opening: ArgumentOf<"open">;
  readonly #definition;
  #ids = 0;

  constructor(options: {
    readonly maxAgents: number;
    readonly projects?: boolean;
    readonly metadata?: JsonObject;
    readonly budget?: ExecutionBudget;
    /** Default: `t`. */
    readonly treeId?: TreeId;
    /** Other arguments for the call that opens it. */
    readonly open?: Partial<ArgumentOf<"open">>;
    /** Other dependencies. */
    readonly deps?: Partial<TreeDeps>;
  }) {
    const { maxAgents, projects = true, metadata = {}, budget = {}, open = {}, deps = {} } = options;
    const { treeId = TreeId.of("t") } = options;
    this.object = new LazyObject(`-/${treeId}`);
    this.root = RunId.root(treeId);
    this.#definition = withBatch(treeObject({ ...depsOfTrees, projects, ...deps }));
    this.opening = {
      treeId,
      inputHash: "hash",
      secret: TreeSecret.mint(),
      statesVersion: true,
      cancelGraceMs: 10_000,
      agentId: AgentId.of("parent"),
      version: "1",
      firstMessage: { id: MessageId.of("input"), from: { kind: "outside", name: "user" }, text: "go", at: 1 },
      scope: { tenantId: null, userId: null, sessionId: SessionId.of("s"), channel: null, metadata },
      traceId: "0".repeat(32),
      caller: null,
      spawn: SpawnBudget.of({ maxAgents }),
      treeBudget: budget,
      rootBudget: {},
      priority: "normal",
      retention: "permanent",
      rules: [],
      prices: {},
      ageingMs: 60_000,
      yieldTimeoutMs: 60_000,
      maxRestarts: 3,
      session: null,
      waits: false,
      at: 1,
      ...open,
    };
    this.call("open", this.opening);
  }

  child(number: number): RunId {
    return RunId.of(RunId.tree(this.root), number);
  }

  call<Method extends TreeMethod>(name: Method, argument: ArgumentOf<Method>): Cost {
    const { methods, queries } = this.#definition;
    const method = methods[name] ?? queries[name];
    if (!method) throw new Error(`a tree has no method ${name}`);
    return this.object.call(method, argument);
  }

  /** Makes several calls as one. */
  batch(calls: readonly BatchedCall[]): Cost & { readonly replies: readonly BatchedReply[] } {
    const method = this.#definition.methods["batch"];
    if (!method) throw new Error("a tree has no batches");
    const cost = this.object.call(method, { calls });
    return { ...cost, replies: Json.as(cost.result) };
  }

  /** Spawns so many children of the root that may wait for a slot. */
  queue(count: number): void {
    this.spawn(count, this.root, "wait");
  }

  /** Spawns so many children of a run. */
  spawn(
    count: number,
    parent = this.root,
    onFull: "deny" | "wait" = "deny",
    agentId = AgentId.of("child"),
  ): readonly Cost[] {
    return Array.from({ length: count }, () =>
      this.call("spawn", { ...this.#toSpawnArgument(parent), agentId, onFull, priority: null }),
    );
  }

  /** The call by which the root spawns a child. */
  spawnCall(more: Partial<ArgumentOf<"spawn">> = {}): BatchedCall {
    const place = { agentId: AgentId.of("child"), onFull: "deny", priority: null } as const;
    return { method: "spawn", argument: Json.of({ ...this.#toSpawnArgument(this.root), ...place, ...more }) };
  }

  /** A run spawns a child on terms of its own. Returns the child. */
  spawnChild(parent: RunId, more: Partial<ArgumentOf<"spawn">> = {}): RunId {
    const place = { agentId: AgentId.of("child"), onFull: "wait", priority: null } as const;
    const { result } = this.call("spawn", { ...this.#toSpawnArgument(parent), ...place, ...more });
    return Json.as<{ readonly reply: { readonly run: RunId } }>(result).reply.run;
  }

  #toSpawnArgument(parent: RunId): Omit<ArgumentOf<"spawn">, "agentId" | "onFull" | "priority"> {
    return {
      ...this.from(parent),
      text: "work",
      messageId: MessageId.of(this.id()),
      asks: false,
      budget: null,
      retention: null,
      detached: false,
      tools: null,
      rules: [],
    };
  }

  /** The root spawns a child of high priority, which another child has to make room for. */
  preempt(): Cost {
    return this.call("spawn", {
      ...this.#toSpawnArgument(this.root),
      agentId: AgentId.of("child"),
      onFull: "wait",
      priority: "high",
    });
  }

  end(run: RunId, output: Json = "done", more: Partial<EndReport> = { isSaved: true }): Cost {
    const end = { status: "completed", stopReason: "answer", output, ...more } as const;
    return this.call("end", { ...this.from(run), end });
  }

  /** A run asks the gate for a model call. */
  begin(run: RunId, attempt = this.id(), more: Partial<ArgumentOf<"begin">> = {}): Cost {
    return this.call("begin", {
      ...this.from(run),
      step: StepId.of(run, "model", ++this.#ids),
      attempt: AttemptId.of(attempt),
      epoch: { id: "1", order: null },
      ask: {
        model: "/m",
        inputTokens: 10,
        outputTokens: 10,
        minOutputTokens: 1,
        price: null,
        unpriced: "allow",
        landing: false,
      },
      rerun: false,
      previous: [],
      subject: "model",
      ...more,
    });
  }

  /** Sends a message from outside. */
  send(to: RunId, text: string): Cost {
    const from = { kind: "outside", name: "user" } as const;
    return this.call("send", { to, messageId: MessageId.of(this.id()), from, text, at: 5 });
  }

  /** Makes one run ask another. */
  ask(from: RunId, to: RunId): Cost {
    return this.call("send", {
      to,
      messageId: MessageId.of(this.id()),
      from: { kind: "run", runId: from, agentId: AgentId.of("child") },
      text: "?",
      askedBy: from,
      at: 5,
    });
  }

  /** The value that the tree has stored under a key; null if there is none. */
  readStored(key: string): Json {
    return Json.of(JSON.parse(this.object.state.get(key) ?? "null"));
  }

  /** The record of a live run; null if there is none. */
  run(run: RunId): RunRecord | null {
    return decodeRun(run, this.readStored(runKey(run)));
  }

  /** The slot of a live run; null if there is none. */
  slot(run: RunId): Slot | null {
    return decodeSlot(run, this.readStored(slotKey(run)));
  }

  /** Hands out all events, as the projector asks for them. */
  drain(): void {
    for (let isMore = true; isMore;) {
      const { result } = this.call("drain", { after: 0, limit: 256, at: 100_000 });
      isMore = Json.as<ReplyOf<"drain">>(result).more;
    }
  }

  /** The tree's events of one type, in order. */
  events<Type extends EventType>(type: Type): readonly ReeveEvent<Type>[] {
    const { result } = this.call("events", { after: 0, limit: 1_000 });
    return eventsOf(Json.as<{ readonly events: readonly NumberedEvent[] }>(result).events, type);
  }

  /** Takes the argument of the next message that the tree has sent to itself; null if there is none. */
  takeSent(method: TreeMethod): Json {
    const index = this.object.sent.findIndex((message) => message.method === method);
    return index === -1 ? null : (this.object.sent.splice(index, 1)[0]?.argument ?? null);
  }

  /** The fields that every call of a run has. */
  from(run: RunId): { run: RunId; continuation: number; reports: readonly []; at: number } {
    return { run, continuation: 0, reports: [], at: 3 };
  }

  id(): string {
    return `id-${++this.#ids}`;
  }
}
