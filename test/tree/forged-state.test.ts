import * as fc from "fast-check";
import { ApprovalId, AttemptId, Json, MessageId, StoredValueError, TopicId, TreeId } from "#kernel";
import { expect, test } from "vitest";
import { protocolNumber, withProtocol } from "../../src/tree/protocol-number.ts";
import { sessionObject } from "../../src/tree/session-object.ts";
import { versionedObject } from "../../src/tree/versioned-object.ts";
import { LazyObject } from "./lazy-object.ts";
import { LazyTree } from "./lazy-tree.ts";
import { propertyRuns } from "../effort.ts";

const numRuns = propertyRuns(2_000);

/** A tree that has values of every kind. */
function fullTree(): LazyTree {
  const tree = new LazyTree({ maxAgents: 5, budget: { maxTokens: 1_000 }, open: { name: "report" } });
  const [root, at] = [tree.root, 3];
  tree.queue(6);
  const topic = TopicId.of("news", TreeId.of("t"));
  tree.call("subscribe", { run: tree.child(1), topic, subscription: "s", on: true, at });
  tree.call("emit", { ...tree.from(root), topic, data: { n: 1 }, messageId: MessageId.of("told") });
  for (let number = 0; number < 40; number++) tree.send(tree.child(2), `message ${number}`);
  tree.ask(tree.child(1), tree.child(2));
  tree.begin(tree.child(3), "attempt");
  const approval = { id: ApprovalId.parse("t~0:tool:1"), tool: "mail", arguments: { to: "ann" }, hash: "h" };
  const asked = { ...approval, why: "it leaves", risk: "high", expiresAt: 1_000_000 } as const;
  tree.call("requestApproval", { ...tree.from(root), approval: asked });
  tree.call("holdDisabled", { run: tree.child(3), kind: "tool", name: "mail", object: "-", at });
  tree.call("wait", { ...tree.from(root), on: [tree.child(1)] });
  tree.call("cancel", { run: tree.child(4), reason: "stop", at });
  tree.end(tree.child(4), "words", { status: "cancelled", stopReason: "cancelled" });
  return tree;
}

const amounts = { tokens: 1, costMicros: 2 };
const loan = { ...amounts, leasedAt: 1, index: 0 };
const budget = {
  maxTokens: 1,
  maxCostMicros: null,
  per: "day",
  from: 0,
  until: 1,
  spent: amounts,
  lent: amounts,
};
const task = { agent: "a", input: "go", options: {}, catchUp: "none", overlap: "skip", key: null };
const spec = { id: "s", user: null, cron: "* * * * *", timeZone: "UTC", ...task };
const last = { tick: 1, at: 1, outcome: "failed", treeId: null, error: "model" };
const times = { generation: 1, nonce: "n", after: 1, next: 2, paused: false, setAt: 1 };
const state = { ...times, last, lastTree: null };
const address = { type: "tree", key: "-/t" };

/** Values of every kind: by the type of the object, their name and their value. */
function goldens(): readonly (readonly [type: string, name: string, value: Json])[] {
  const tree = fullTree();
  const over = new LazyTree({ maxAgents: 2, projects: false });
  over.spawnChild(over.root);
  over.call("cancel", { run: over.root, reason: "stop", at: 3 });
  over.end(over.child(1));
  over.end(over.root);
  const erased = new LazyTree({ maxAgents: 2 });
  erased.end(erased.root);
  erased.drain();
  erased.call("erase", { at: 4 });
  const doubt = {
    run: "t~1",
    step: "t~1:model:1",
    ceiling: amounts,
    price: { input: 1, output: 2 },
    path: ["t~0"],
  };
  return [
    ...[tree, over, erased].flatMap((each) =>
      [...each.object.state.keys()].map((name) => ["tree", name, each.readStored(name)] as const),
    ),
    ["tree", `doubt/${AttemptId.of("a")}`, doubt],
    ["session", "session", { holder: address, line: [address] }],
    ["tenant", "budget", budget],
    ["tenant", "budget/ann", { ...budget, per: "ever", until: null }],
    ["tenant", "loan/t", loan],
    ["tenant", "holder/0", "t"],
    ["tenant", "holders", { count: 1, next: 0, recalledAt: 0 }],
    ["switches", "switches", [{ kind: "tool", name: "mail", reason: null, by: "ann", at: 1 }]],
    ["switches", "tenants", ["acme"]],
    ["switches", "held/tool/mail/-/t/t~0", { kind: "tool", name: "mail", tree: "-/t", run: "t~0" }],
    ["schedule", "spec", spec],
    ["schedule", "state", state],
  ];
}

/** Returns what an object reads of a stored value. */
function read(type: string, name: string, value: Json): Json {
  const object = new LazyObject("-/t");
  object.state.set(name, JSON.stringify({ v: protocolNumber, value }));
  const definition = versionedObject({ type, methods: { read: (each) => each.get(name) }, queries: {} });
  return object.call(definition.methods["read"] ?? (() => null), withProtocol({})).result;
}

/** Fields with content that nothing in a tree reads, and fields that a program supplies. */
const contents = new Set(["output", "data", "arguments", "metadata", "input", "options", "message"]);

/** Every place of a closed record in a value, as a path. */
function places(value: Json, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, each]) =>
    contents.has(name) ? [] : places(each ?? null, [...path, name]),
  );
  return Array.isArray(value) ? inner : [path, ...inner];
}

/** Returns a copy of a value with a change of the object at a place. */
function changeAt(value: Json, [first, ...rest]: readonly string[], change: (inner: object) => object): Json {
  if (first === undefined) return Json.of(change(Object(value)));
  const inner = changeAt(Json.of(Reflect.get(Object(value), first)), rest, change);
  return Array.isArray(value)
    ? value.map((each: Json, index) => (String(index) === first ? inner : each))
    : { ...Object(value), [first]: inner };
}

/** Objects whose names are data, and those that a program supplies: they may have any fields. */
const isFree = (name: string, path: readonly string[]): boolean =>
  name.startsWith("seen/") ||
  ["prices", "cancelling", "unread", "usage", "executionBudget", "budget", "price", "error"].includes(
    path.at(-1) ?? "",
  );

const values = goldens();
const kinds = [...new Set(values.map(([type, name]) => `${type} ${name.split("/", 1).join()}`))];

test("the test has values of every kind", () => {
  expect(kinds.toSorted()).toMatchInlineSnapshot(`
    [
      "schedule spec",
      "schedule state",
      "session session",
      "switches held",
      "switches switches",
      "switches tenants",
      "tenant budget",
      "tenant holder",
      "tenant holders",
      "tenant loan",
      "tree approval",
      "tree approval-at",
      "tree asks",
      "tree cancel",
      "tree closed",
      "tree content",
      "tree disabled",
      "tree doubt",
      "tree ended",
      "tree erased",
      "tree event",
      "tree finished",
      "tree inbox",
      "tree info",
      "tree line",
      "tree live",
      "tree run",
      "tree seen",
      "tree slot",
      "tree subscriptions",
      "tree told",
      "tree topic",
      "tree tree",
      "tree waits",
    ]
  `);
});

test.each(values)("%s %s is read as it was written", (type, name, value) => {
  expect(read(type, name, value)).toEqual(value);
});

test("a field that no record has is refused, in every object of every value", () => {
  let refused = 0;
  for (const [type, name, value] of values)
    for (const path of places(value)) {
      if (isFree(name, path)) continue;
      const forged = changeAt(value, path, (inner) => ({ ...inner, admin: true }));
      expect(() => read(type, name, forged), `${name} ${path.join(".")}`).toThrow(StoredValueError);
      refused += 1;
    }
  expect(refused).toBeGreaterThan(100);
});

test("a field of another type is refused, in every object of every value", () => {
  for (const [type, name, value] of values)
    for (const path of places(value))
      changeAt(value, path, (inner) => {
        for (const [field, given] of Object.entries(inner)) {
          if (contents.has(field) || (path.at(-1) === "payload" && name.startsWith("event/"))) continue;
          const other = typeof given === "object" && given !== null ? 7 : { $type: "Buffer" };
          const forged = changeAt(value, path, (each) => ({ ...each, [field]: other }));
          expect(() => read(type, name, forged), `${name} ${[...path, field].join(".")}`).toThrow(
            StoredValueError,
          );
        }
        return inner;
      });
});

test("a field that a record needs is refused if it is missing", () => {
  const needed = [
    ["tree", "tree", "ledger"],
    ["tree", "tree", "seq"],
    ["tree", "info", "scope"],
    ["tree", "run/t~1", "agentId"],
    ["tree", "slot/t~1", "since"],
    ["tree", "approval/t~0:tool:1", "hash"],
    ["tree", "approval/t~0:tool:1", "expiresAt"],
    ["tree", "cancel/", "runs"],
    ["tenant", "budget", "spent"],
    ["session", "session", "holder"],
    ["schedule", "state", "nonce"],
  ] as const;
  for (const [type, prefix, field] of needed) {
    const [, name = "", value = null] =
      values.find((each) => each[0] === type && each[1].startsWith(prefix)) ?? [];
    const { [field]: _, ...less } = Object(value);
    expect(() => read(type, name, less), `${name}.${field}`).toThrow(StoredValueError);
  }
});

/** Values that decoders of other frameworks take for classes, code or prototypes. */
const payloads = [
  '{"lc":1,"type":"constructor","id":["os","system"],"kwargs":{}}',
  '{"type":"Buffer","data":[1,2]}',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"toJSON":"x","then":"x"}',
  '{"length":4294967295}',
  "[[[[]]]]",
  "-1",
  '""',
].map((text): Json => Json.of(JSON.parse(text)));

test("a changed value is read unchanged or refused, and has no other effect", () => {
  const change = fc.record({
    index: fc.nat({ max: values.length - 1 }),
    place: fc.nat(),
    field: fc.nat(),
    put: fc.oneof(fc.constantFrom(...payloads), fc.jsonValue({ maxDepth: 2 })),
  });
  let refused = 0;
  const property = fc.property(change, ({ index, place, field, put }) => {
    const [type, name, value] = values[index] ?? ["tree", "tree", null];
    const all = places(value);
    const path = all[place % Math.max(1, all.length)] ?? [];
    const forged: Json = JSON.parse(
      JSON.stringify(
        changeAt(value, path, (inner) => {
          const names = Object.keys(inner);
          return { ...inner, [names[field % Math.max(1, names.length)] ?? "x"]: put };
        }),
      ),
    );
    try {
      expect(read(type, name, forged)).toEqual(forged);
    } catch (error) {
      if (!(error instanceof StoredValueError)) throw error;
      refused += 1;
    }
    expect(Reflect.get({}, "admin")).toBeUndefined();
  });
  fc.assert(property, { numRuns });
  expect(refused).toBeGreaterThan(numRuns / 4);
});

test("a value of a name that is not known is refused, and the error tells no content", () => {
  expect(() => read("tree", "constructor", {})).toThrow(StoredValueError);
  expect(() => read("tree", "other/x", true)).toThrow("the tree's state other was changed and is not used");
  const forged = { secret: "of ann" };
  expect(() => read("tree", "run/t~1", forged)).toThrow(/^[^:]+: has an unknown field$/);
});

test("a method that meets a forged record changes and sends nothing", () => {
  const object = new LazyObject("-/talk");
  const forged = JSON.stringify({ v: protocolNumber, value: { holder: address, line: [], admin: true } });
  object.state.set("session", forged);
  const release = versionedObject(sessionObject).methods["release"] ?? (() => null);
  expect(() => object.call(release, withProtocol({ tree: address, at: 1 }))).toThrow(StoredValueError);
  expect([...object.state]).toEqual([["session", forged]]);
  expect(object.sent).toEqual([]);
});
