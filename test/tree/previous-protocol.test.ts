import { readFileSync } from "node:fs";
import { AgentId, Json, MessageId, RunId, TopicId, TreeId, type JsonObject, type RunLaunch } from "#kernel";
import { expect, test } from "vitest";
import { readLaunchInput, upgradeBatch, upgradeReply } from "../../src/tree/previous-protocol.ts";
import { protocolNumber } from "../../src/tree/protocol-number.ts";
import { tenantObject } from "../../src/tree/tenant/tenant-object.ts";
import { treeObject } from "../../src/tree/tree-object.ts";
import { sessionObject } from "../../src/tree/session-object.ts";
import { versionedObject } from "../../src/tree/versioned-object.ts";
import { LazyObject } from "./lazy-object.ts";
import { depsOfTrees, LazyTree } from "./lazy-tree.ts";

/** Values that the last release of protocol 2 has stored for one tree, its first launch, and its wake-ups. */
const recorded = Json.as<{
  readonly values: Readonly<Record<string, Json>>;
  readonly launch: RunLaunch;
  readonly woken: readonly { readonly value: Json }[];
}>(Json.of(JSON.parse(readFileSync("test/golden/values-of-protocol-2.json", "utf8"))));

const definition = versionedObject(treeObject({ ...depsOfTrees, projects: true }));
const child = (number: number): RunId => RunId.of(TreeId.of("t"), number);
const root = child(0);

/** The tree that protocol 2 has stored. */
function previousTree(): LazyObject {
  const object = new LazyObject("-/t");
  for (const [name, value] of Object.entries(recorded.values))
    object.state.set(name, JSON.stringify({ v: 2, value }));
  return object;
}

/** Makes a call of protocol 2. */
function callOf(object: LazyObject, name: string, argument: JsonObject): Json {
  const method = definition.methods[name] ?? definition.queries[name];
  if (!method) throw new Error(`a tree has no method ${name}`);
  return object.call(method, { ...argument, protocol: 2 }).result;
}

const from = (run: RunId): JsonObject => ({ run, continuation: 0, reports: [], cursor: 1, at: 3 });

/** Returns what a tree reads of a stored value. */
function read(name: string): Json {
  const reader = versionedObject({ type: "tree", methods: { read: (each) => each.get(name) }, queries: {} });
  const method = reader.methods["read"] ?? (() => null);
  return previousTree().call(method, { protocol: protocolNumber }).result;
}

test.each(Object.keys(recorded.values))("the value %s of protocol 2 is read", (name) => {
  expect(JSON.stringify(read(name))).not.toMatch(
    /"(?:boot|hiredAt|untold|hearsNews|fleeting|block)":|"told":\d|nobody-below/,
  );
});

test("renamed fields of protocol 2 keep their values", () => {
  expect(read(`run/${root}`)).toMatchObject({
    firstMessage: "input",
    spawnedAt: 1,
    inbox: { taken: 1, delivered: 1 },
  });
  expect(read(`run/${child(3)}`)).toMatchObject({ undeliveredEvents: [4] });
  expect(read("tree")).toMatchObject({ hasErasable: true, ledger: { lease: { tokens: 500, leasedAt: 1 } } });
  expect(read(`content/${child(4)}`)).toMatchObject({ error: { reason: "no-lower-priority" } });
  expect(JSON.stringify(read("event/15"))).toContain("no-lower-priority");
});

test("a run of protocol 2 calls a tree of protocol 2 by the previous names, and gets the previous form", () => {
  const object = previousTree();
  object.answer = () => Json.of({ tokens: 500, costMicros: null, leasedAt: 1, until: 60_000, limits: {} });
  const terms = { priority: null, budget: null, retention: null, onFull: "deny", detached: false };
  const spawn = { agentId: AgentId.of("child"), text: "go", messageId: MessageId.of("new"), asks: false };
  expect(callOf(object, "hire", { ...from(root), ...spawn, ...terms, tools: null, rules: [] })).toEqual({
    reply: { run: child(5) },
  });
  const topic = TopicId.of("news", TreeId.of("t"));
  const subscription = { run: root, topic, subscription: "s2", on: true, at: 3 };
  expect(callOf(object, "follow", subscription)).toBeNull();
  expect(callOf(object, "unask", { run: child(1), ask: "id-9", at: 3 })).toBeNull();
  const steer = { run: root, kind: "steer", text: "left", messageId: "steer", at: 3 };
  expect(callOf(object, "nudge", steer)).toBeNull();
  expect(callOf(object, "go", { at: 3 })).toBeNull();
  const waited = callOf(object, "rest", { ...from(root), on: null });
  expect(waited).toMatchObject({ reply: { cursor: 3, more: false, standing: "running" } });
  expect(JSON.stringify(waited)).not.toContain("slotState");
  const stop = { execution: "execution 3", kind: "stopped", policy: "hold", words: "by a person", at: 3 };
  expect(callOf(object, "blocked", stop)).toBe(true);
  expect(JSON.stringify([...object.state])).toContain("it cannot execute (stopped): by a person");
  expect(JSON.parse(object.state.get("tree") ?? "{}")).toMatchObject({ v: protocolNumber });
});

test("a wake-up brings no items to a run of protocol 2: it takes them", () => {
  const object = previousTree();
  callOf(object, "take", { ...from(root), cursor: 2 });
  callOf(object, "rest", { ...from(root), cursor: 2, on: [child(1)] });
  object.woken.length = 0;
  callOf(object, "end", {
    ...from(child(1)),
    end: { status: "completed", stopReason: "answer", output: 1 },
  });
  expect(object.woken).toEqual([{ execution: "execution 1", name: "inbox/2", value: null }]);
  expect(callOf(object, "take", { ...from(root), cursor: 2 })).toMatchObject({
    reply: { cursor: 3, items: [{ kind: "ended", run: child(1) }], standing: "running" },
  });
});

test("a tenant and a session answer calls of protocol 2", () => {
  const tenant = versionedObject(tenantObject({ projects: false }));
  const object = new LazyObject("acme");
  const ask = { tree: "t", user: null, protocol: 2 };
  const none = { tokens: 0, costMicros: 0 };
  const need = { tokens: 1, costMicros: 0, used: none, renews: false, mayWait: false };
  const { methods } = tenant;
  expect(object.call(methods["draw"] ?? (() => null), { ...ask, ...need }).result).toMatchObject({
    adds: false,
  });
  const back = { ...ask, leasedAt: 0, used: none };
  expect(object.call(methods["giveBack"] ?? (() => null), back).result).toBeNull();
  const talk = new LazyObject("talk");
  const open = { boot: { id: "input" }, scope: { sessionId: "talk" } };
  const turn = { tree: { type: "tree", key: "-/t" }, open, onBusy: "refuse", protocol: 2 };
  talk.answer = () => ({ existing: false, execution: null });
  talk.call(versionedObject(sessionObject).methods["invoke"] ?? (() => null), turn);
  expect(talk.called).toMatchObject([
    { method: "open", argument: { firstMessage: { id: "input" }, protocol: protocolNumber } },
  ]);
});

test("a tree is opened by a call of protocol 2", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  const [input] = tree.object.launched;
  const { firstMessage: boot, ...open } = Json.as<JsonObject>(Json.of(tree.opening));
  const object = new LazyObject("-/t");
  callOf(object, "open", { ...open, boot: boot ?? null });
  expect(object.launched).toMatchObject([{ protocol: protocolNumber, input: input?.input }]);
});

test("the launch, the wake-ups and the replies of a run of protocol 2 are read", () => {
  expect(readLaunchInput(recorded.launch)).toMatchObject({
    agentId: "parent",
    inbox: { cursor: 1, slotState: "running", items: [{ kind: "message" }] },
  });
  expect(upgradeBatch(recorded.woken.at(-1)?.value ?? null)).toMatchObject({
    cursor: 2,
    slotState: "running",
  });
  expect(upgradeReply({ reply: { gate: { kind: "needs-block", tokens: 1 }, reported: 0 } })).toEqual({
    reply: { gate: { kind: "needs-lease", tokens: 1 }, reported: 0 },
  });
});
