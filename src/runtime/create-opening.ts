import { hash, randomUUID } from "node:crypto";
import {
  checkTerms,
  ExecutionBudget,
  isLine,
  Labels,
  MessageId,
  SessionId,
  SpawnBudget,
  TenantId,
  TraceParent,
  UserId,
  type Agent,
  type Clock,
  type TreeId,
} from "#kernel";
import type { PriceList } from "#run";
import { treeAddress, TreeSecret, type CompactionOrder, type OpenArgument } from "#tree";
import type { PreparedInput } from "./prepare-input.ts";
import type { RuntimeOptions } from "./runtime-options.ts";
import type { StartOptions } from "./start-options.ts";

/** A tree to open. */
interface NewTree {
  /** Set if the tree compacts a conversation instead of taking a turn. */
  readonly compaction?: CompactionOrder | undefined;
  readonly agent: Agent<unknown>;
  /** The version that the program's agent of this name has. */
  readonly version: string;
  readonly input: PreparedInput;
  readonly treeId: TreeId;
}

/** The part of a runtime that its trees begin with. */
interface OpeningDeps extends Pick<
  RuntimeOptions,
  "priorityAgingMs" | "yieldTimeoutS" | "cancelGraceS" | "maxRestarts" | "retention"
> {
  readonly clock: Clock;
  readonly prices: PriceList;
}

/** Creates the argument that opens a tree. */
export function createOpening(
  { agent, version, input, treeId, compaction }: NewTree,
  host: OpeningDeps,
  options: StartOptions,
): OpenArgument {
  const {
    clock,
    prices,
    priorityAgingMs = 60_000,
    yieldTimeoutS = 60,
    cancelGraceS = 10,
    maxRestarts = 3,
  } = host;
  const { retention = "permanent" } = host;
  const at = clock.now();
  const { deadlineS } = options;
  checkTerms(options);
  const caller = TraceParent.parse(options.traceparent ?? "");
  return {
    treeId,
    inputHash: startHash(agent, input, options),
    secret: TreeSecret.mint(),
    agentId: agent.id,
    version: agent.version ?? version,
    statesVersion: agent.version !== undefined,
    firstMessage: {
      id: MessageId.of(`${treeId}:input`),
      from: { kind: "outside", name: options.user ?? "user" },
      ...input.parts,
      ...(options.labels && { labels: Labels.of(options.labels) }),
      at,
    },
    scope: {
      tenantId: options.tenant === undefined ? null : TenantId.of(options.tenant),
      userId: options.user === undefined ? null : UserId.of(options.user),
      sessionId: SessionId.of(options.session ?? randomUUID()),
      channel: options.channel ?? null,
      metadata: options.metadata ?? {},
    },
    traceId: caller?.traceId ?? hash("sha256", treeAddress(treeId, options.tenant).key).slice(0, 32),
    caller: caller && TraceParent.format(caller),
    spawn: SpawnBudget.of(options.spawn),
    treeBudget: ExecutionBudget.of({ ...options.budget, ...(deadlineS !== undefined && { deadlineS }) }),
    rootBudget: ExecutionBudget.of(agent.budget),
    priority: options.priority ?? agent.priority ?? "normal",
    retention: options.retention ?? agent.retention ?? retention,
    rules: options.permissions ?? [],
    prices: prices.pinned,
    ageingMs: priorityAgingMs,
    yieldTimeoutMs: yieldTimeoutS * 1000,
    cancelGraceMs: cancelGraceS * 1000,
    maxRestarts,
    session: null,
    waits: false,
    ...(options.after !== undefined && { after: options.after }),
    ...(compaction && { compaction }),
    ...(options.name !== undefined && { name: checkName(options.name) }),
    at,
  };
}

const maxNameLength = 120;

/** Checks the name of a tree. @throws RangeError if it is empty, too long or not one line. */
function checkName(name: string): string {
  if (name.length === 0 || name.length > maxNameLength)
    throw new RangeError(`name must have 1 to ${maxNameLength} characters, got ${name.length}`);
  if (!isLine(name))
    throw new RangeError(`name must be one line without control characters, got ${JSON.stringify(name)}`);
  return name;
}

/**
 * Returns a hash that is the same for a repeated start. It covers everything that a caller asks for and then relies on:
 * no caller must get the tree of another user, or one with wider limits, rules or labels than requested. It leaves out what
 * changes between two tries of one request (metadata, trace) and what the program decides (defaults of agent and
 * runtime, and a version that its author does not state).
 */
function startHash({ id, version }: Agent<unknown>, input: PreparedInput, options: StartOptions): string {
  const { user, session, after, budget, spawn, deadlineS, permissions, labels, retention, priority } =
    options;
  const terms = {
    agent: [id, version],
    input: input.key,
    user,
    session,
    after,
    limits: [budget ?? {}, spawn ?? {}, deadlineS],
    permissions: permissions ?? [],
    labels: Labels.of(labels ?? {}),
    retention,
    priority,
  };
  return hash("sha256", JSON.stringify(terms));
}
