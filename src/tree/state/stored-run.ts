import { AgentId, Json, RunId, TreeId, type JsonObject, type ObjectContext } from "#kernel";
import type { Slot } from "#ledger";
import { addDefaults, omitDefaults } from "./compact.ts";
import { endedKey, type EndedRecord, type RunRecord } from "./records.ts";

/*
 * The stored records of runs: live runs, their slots, and ended runs. Fields with their default value are omitted. Some
 * defaults are derived from the run's id and other fields: most runs are children of the root, and start when they are
 * spawned.
 */

/** Returns the key of the record of a live run. */
export const runKey = (run: RunId): string => `run/${run}`;

/** Returns the key of the slot of a live run. */
export const slotKey = (run: RunId): string => `slot/${run}`;

const rootPrefixes = ["run/", "slot/", "asks/"];

/**
 * Whether a key is that of a value of a tree's live root, which has the number 0. The runs that it waits for are
 * excluded, because they can be many.
 */
export const isRootKey = (key: string): boolean =>
  key.endsWith("~0") && rootPrefixes.some((prefix) => key.startsWith(prefix));

const noAmounts = { tokens: 0, costMicros: 0 };

const runDefaults = {
  budget: null,
  firstMessage: null,
  execution: null,
  wakesWithItems: false,
  continuation: 0,
  account: {
    maxTokens: null,
    maxCostMicros: null,
    settled: noAmounts,
    reserved: noAmounts,
    inFlight: 0,
    inDoubt: noAmounts,
    usage: { input: 0, output: 0 },
    waitsForTopUp: false,
    warned: [],
    exceeded: [],
    maxTurns: null,
    turns: 0,
    attempts: [],
    steps: [],
    waiting: [],
  },
  inbox: { taken: 0, woken: false, delivered: 0, items: [], characters: 0, first: 0, last: -1 },
  reported: 0,
  crashes: 0,
  crashedIn: "",
  watchers: [],
  tools: null,
  rules: [],
  asking: [],
  remembered: [],
  cancel: null,
  spentAfter: 0,
  pausedFor: null,
  denied: [],
  undeliveredEvents: null,
} satisfies Partial<RunRecord>;

const slotDefaults = {
  priority: "normal",
  phase: "running",
  held: false,
  waitsForRuns: false,
  taker: null,
  victim: null,
  skipped: false,
  asleep: false,
  isBlocked: false,
  detached: false,
  allowedMs: null,
  deadline: null,
  cancelled: null,
  fence: { id: "", order: null, older: [] },
  children: 0,
  idleChildren: 0,
  idleSince: null,
  idleMs: 0,
  hasLateAsks: false,
  page: null,
} satisfies Partial<Slot>;

const endedDefaults = {
  retention: "run",
  cancel: null,
  spentAfter: 0,
} satisfies Partial<EndedRecord>;

const resultDefaults = {
  status: "completed",
  stopReason: "answer",
  output: null,
  usage: { input: 0, output: 0 },
  costMicros: 0,
  inDoubtMicros: 0,
} satisfies Partial<EndedRecord["result"]>;

/** The fields of a run's record from which other defaults are derived. */
type RunBasis = Pick<RunRecord, "agentId" | "spawnedAt"> & {
  readonly ancestors?: RunRecord["ancestors"];
  readonly supervision: { readonly parentId?: AgentId | null };
};

/** Reads the record of a live run. Null if absent. */
export const readRun = (object: ObjectContext, run: RunId): RunRecord | null =>
  readRow(object, runKey(run), (stored) => decodeRun(run, stored));

/** Writes the record of a live run. */
export const writeRun = (object: ObjectContext, run: RunId, record: RunRecord): void =>
  object.set(runKey(run), object.keepsReferences ? Json.of(record) : encodeRun(run, record));

/** Reads the slot of a live run. Null if absent. */
export const readSlot = (object: ObjectContext, run: RunId): Slot | null =>
  readRow(object, slotKey(run), (stored) => decodeSlot(run, stored));

/** Writes the slot of a live run. */
export const writeSlot = (object: ObjectContext, run: RunId, slot: Slot): void =>
  object.set(slotKey(run), object.keepsReferences ? Json.of(slot) : encodeSlot(run, slot));

/** Reads the record of an ended run that has a separate value. Null if absent. */
export const readEnded = (object: ObjectContext, run: RunId): EndedRecord | null =>
  readRow(object, endedKey(run), (stored) => decodeEnded(run, stored));

/** Writes the record of an ended run. */
export const writeEnded = (object: ObjectContext, run: RunId, ended: EndedRecord): void =>
  object.set(endedKey(run), object.keepsReferences ? Json.of(ended) : encodeEnded(run, ended));

/** Reads a value. Values that stay in this process have all of their fields. */
function readRow<Row>(object: ObjectContext, name: string, decode: (stored: Json) => Row | null): Row | null {
  const stored = object.get(name);
  return object.keepsReferences ? Json.as(stored) : decode(stored);
}

/** Decodes the record of a live run. Null if absent. */
export function decodeRun(run: RunId, stored: Json): RunRecord | null {
  return stored === null ? null : Json.as(addDefaults(Json.as(stored), defaultsOfRun(run, Json.as(stored))));
}

/** Encodes the record of a live run. */
export const encodeRun = (run: RunId, record: RunRecord): Json =>
  omitDefaults(Json.as(Json.of(record)), defaultsOfRun(run, record));

/** Decodes a slot. Null if absent. */
export function decodeSlot(run: RunId, stored: Json): Slot | null {
  return stored === null ? null : Json.as(addDefaults(Json.as(stored), defaultsOfSlot(run)));
}

/** Encodes a slot. */
export const encodeSlot = (run: RunId, slot: Slot): Json =>
  omitDefaults(Json.as(Json.of(slot)), defaultsOfSlot(run));

/** Decodes the record of an ended run. Null if absent. */
export function decodeEnded(run: RunId, stored: Json): EndedRecord | null {
  return stored === null ? null : Json.as(addDefaults(Json.as(stored), defaultsOfEnded(run)));
}

/** Encodes the record of an ended run. */
export const encodeEnded = (run: RunId, ended: EndedRecord): Json =>
  omitDefaults(Json.as(Json.of(ended)), defaultsOfEnded(run));

function defaultsOfRun(run: RunId, { agentId, spawnedAt, supervision, ...basis }: RunBasis): JsonObject {
  const { parentId } = supervision;
  const { ancestors = ancestorsByDefault(run) } = basis;
  return {
    ...runDefaults,
    ancestors: ancestorsByDefault(run),
    startedAt: spawnedAt,
    supervision: {
      treeId: RunId.tree(run),
      runId: run,
      rootId: parentId ?? agentId,
      agentId,
      parentId: null,
      parentRunId: ancestors.at(-1) ?? null,
      depth: ancestors.length,
      spawnBudget: { maxAgents: 50, allowPreempt: true },
      executionBudget: {},
      retention: "run",
      priority: "normal",
    },
  };
}

const defaultsOfSlot = (run: RunId): JsonObject => ({
  ...slotDefaults,
  parent: parentByDefault(run),
  order: RunId.number(run),
});

const defaultsOfEnded = (run: RunId): JsonObject => ({
  ...endedDefaults,
  parentRunId: parentByDefault(run),
  result: { ...resultDefaults, treeId: RunId.tree(run), runId: run },
});

const ancestorsByDefault = (run: RunId): readonly RunId[] => {
  const parent = parentByDefault(run);
  return parent === null ? [] : [parent];
};

/** Returns the default parent: the root. Null for the root itself. */
function parentByDefault(run: RunId): RunId | null {
  const root = RunId.root(RunId.tree(run));
  return run === root ? null : root;
}

const someRun = RunId.of(TreeId.of("t"), 1);

/** All fields that have a default, for the shapes of stored values. */
export const storedDefaults = {
  run: defaultsOfRun(someRun, { agentId: AgentId.of("a"), spawnedAt: 0, supervision: {} }),
  slot: defaultsOfSlot(someRun),
  ended: defaultsOfEnded(someRun),
};
