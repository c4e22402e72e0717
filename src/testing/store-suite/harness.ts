import { randomUUID } from "node:crypto";
import {
  AgentId,
  ApprovalId,
  AttemptId,
  ChatMessage,
  EntryId,
  EventId,
  Labels,
  MemoryOwner,
  RunId,
  SessionId,
  StepId,
  TenantId,
  TreeId,
  UserId,
  type ApprovalRequest,
  type BlockEdit,
  type Fact,
  type ManifestRecord,
  type NewSession,
  type NumberedEvent,
  type Partition,
  type RunRecord,
  type SessionEntry,
  type SessionKey,
  type Store,
} from "#kernel";

/** Requirements of a case on its store. */
export interface StoreHarness {
  /** Opens a store on the database under test. All open stores see each other's writes. */
  open(): Promise<Store>;
  /** Ends every connection of every open store, as a network would. Absent where there are none. */
  cut?(): Promise<void>;
}

/** One rule in observable form. */
export interface StoreCase {
  readonly name: string;
  run(harness: StoreHarness): Promise<void>;
}

/** Inputs of a case: a store, and a tenant of its own. */
export interface Desk {
  readonly store: Store;
  readonly tenant: Partition;
  readonly harness: StoreHarness;
}

/** Creates a case whose store is closed afterwards. */
export function storeCase(name: string, body: (desk: Desk) => Promise<void>): StoreCase {
  const run = async (harness: StoreHarness): Promise<void> => {
    const store = await harness.open();
    try {
      await body({ store, tenant: createTenant(), harness });
    } finally {
      await store[Symbol.asyncDispose]();
    }
  };
  return { name, run };
}

export const createTenant = (): Partition => ({ tenantId: TenantId.of(`tenant-${randomUUID()}`) });

export const tree = TreeId.of("books");
export const root = RunId.root(tree);
export const session = SessionId.of("talk");
export const ann = UserId.of("ann");
export const bob = UserId.of("bob");
export const annOwns = MemoryOwner.user(ann);
export const bobOwns = MemoryOwner.user(bob);
/** The session of Ann's. */
export const key: SessionKey = { id: session, userId: ann };

/** Creates a session with the fields that matter to a case. */
export function sessionOf(fields: Partial<NewSession> = {}): NewSession {
  return {
    ...key,
    startedAt: 1_000,
    agentId: null,
    channel: null,
    title: null,
    metadata: {},
    isNamed: true,
    ...fields,
  };
}

/** Creates a run of Ann's with the fields that matter to a case. */
export function runOf(fields: Partial<RunRecord> & { readonly runId: RunId }): RunRecord {
  return {
    treeId: RunId.tree(fields.runId),
    parentRunId: null,
    agentId: AgentId.of("writer"),
    userId: ann,
    sessionId: session,
    status: "running",
    stopReason: null,
    startedAt: 1_000,
    endedAt: null,
    costMicros: 0,
    inDoubtMicros: 0,
    reservedMicros: 0,
    maxCostMicros: null,
    name: null,
    agents: 1,
    liveAgents: 1,
    seq: 1,
    ...fields,
  };
}

/** The `seq`-th event of a tree. */
/** The manifest of a root run's model step. */
export function manifestOf(number: number, given: Partial<ManifestRecord> = {}): ManifestRecord {
  const { runId = root } = given;
  return {
    runId,
    stepId: StepId.of(runId, "model", number),
    attempt: AttemptId.of("a"),
    at: 1_000 + number,
    isPermanent: true,
    body: { kind: "model", parts: ["a", "b"] },
    ...given,
  };
}

export function eventOf(seq: number, text = `note ${seq}`, of: TreeId = tree): NumberedEvent {
  const runId = RunId.root(of);
  return {
    seq,
    type: "guardrail.trip",
    eventId: EventId.of(runId, String(seq)),
    treeId: of,
    runId,
    agent: AgentId.of("writer"),
    at: 1_000 + seq,
    attempt: null,
    guardrail: "spelling",
    reason: text,
    decision: "warn",
  };
}

export const eventsOf = (from: number, to: number): readonly NumberedEvent[] =>
  Array.from({ length: to - from + 1 }, (_, index) => eventOf(from + index));

/** A message in a session, under its parent. */
export function entryOf(
  id: string,
  parent: string | null,
  { branch = null, text = id }: { readonly branch?: RunId | null; readonly text?: string } = {},
): SessionEntry {
  return {
    id: EntryId.of(id),
    parentId: parent === null ? null : EntryId.of(parent),
    at: 1_000,
    branch,
    type: "message",
    message: ChatMessage.user(text),
  };
}

/** Creates a fact with the fields that matter to a case. */
export function factOf(id: string, fields: Partial<Fact> = {}): Fact {
  return {
    id,
    key: "city",
    value: id,
    validFrom: 1,
    validTo: null,
    recordedAt: 1_000,
    runId: null,
    labels: Labels.none,
    ...fields,
  };
}

/** Creates the first text of a block with the fields that matter to a case. */
export function blockEditOf(id: string, fields: Partial<BlockEdit> = {}): BlockEdit {
  return { id, text: id, version: 0, limit: 100, at: 1_000, runId: null, labels: Labels.none, ...fields };
}

/** Creates the `number`-th question of a run with the fields that matter to a case. */
export function questionOf(number: number, fields: Partial<ApprovalRequest> = {}): ApprovalRequest {
  const runId = fields.runId ?? root;
  return {
    id: ApprovalId.of(StepId.of(runId, "tool", number), 0),
    treeId: RunId.tree(runId),
    runId,
    agentId: AgentId.of("writer"),
    tool: "mail",
    risk: "high",
    arguments: { to: "ann", body: [1, null, "x"] },
    hash: "h",
    why: "it leaves the house",
    requestedAt: number,
    expiresAt: 1_000_000,
    spentMicros: 7,
    ...fields,
  };
}
