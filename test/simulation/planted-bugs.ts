import {
  isJsonObject,
  Json,
  type EngineProgram,
  type JsonObject,
  type ObjectContext,
  type ObjectMethod,
} from "#kernel";
import type { Slot } from "#ledger";
import type { BeginArgument, News, ReplyOf } from "../../src/runtime/tree/protocol.ts";
import type { Report, TreeRecord } from "../../src/runtime/tree/records.ts";
import type { Chance } from "./chance.ts";
import type { Mutation } from "./simulate.ts";

/** The tree's methods, one of them changed. */
function change(
  program: EngineProgram,
  wrap: (name: string, method: ObjectMethod) => ObjectMethod,
): EngineProgram {
  const objects = program.objects.map((definition) => {
    if (definition.type !== "tree") return definition;
    const methods = Object.entries(definition.methods).map(([name, method]) => [name, wrap(name, method)]);
    return { ...definition, methods: Object.fromEntries(methods) };
  });
  return { ...program, objects };
}

/** What is asked of one method, changed. */
const asking =
  (method: string, edit: (argument: JsonObject, object: ObjectContext) => object): Mutation =>
  (program) =>
    change(program, (name, run) => {
      if (name !== method) return run;
      return (object, argument) =>
        isJsonObject(argument) ? run(object, Json.of(edit(argument, object))) : run(object, argument);
    });

/** What one key is written with, changed. */
const writing =
  (key: string, edit: (value: Json, object: ObjectContext, method: string) => unknown): Mutation =>
  (program) =>
    change(program, (method, run) => (object, argument) => {
      const set: ObjectContext["set"] = (name, value) =>
        object.set(name, name === key ? Json.of(edit(value, object, method)) : value);
      return run({ ...delegating(object), set }, argument);
    });

/** A context like another. */
const delegating = (object: ObjectContext): ObjectContext => ({
  key: object.key,
  get: (name) => object.get(name),
  expect: (names) => object.expect(names),
  set: (name, value) => object.set(name, value),
  keep: (name, value) => object.keep(name, value),
  clear: (name) => object.clear(name),
  send: (...given) => object.send(...given),
  call: (...given) => object.call(...given),
  launch: (run) => object.launch(run),
  wake: (execution, name) => object.wake(execution, name),
  cancel: (execution) => object.cancel(execution),
});

/** A journal that forgets: what a step came to is asked for once more. */
const forgetful: Mutation = (program) => ({
  ...program,
  run: (primitives) => {
    const step: typeof primitives.step = (name, run) =>
      primitives.step(name, async (io) => {
        const result = await run(io);
        return name.startsWith("tool") ? run(io) : result;
      });
    return program.run(Object.assign(Object.create(primitives), { step }));
  },
});

/** A gate that lets pass what it should refuse. */
const granting = (program: EngineProgram, why: string): EngineProgram =>
  change(program, (name, run) => (object, argument) => {
    const reply = run(object, argument);
    if (name !== "begin") return reply;
    const begun = Json.as<ReplyOf<"begin">>(reply);
    if (begun.gate.kind !== "refused" || begun.gate.why !== why) return reply;
    const none = { tokens: 0, cost: 0 };
    const gate = { kind: "granted", outputTokens: 16, ceiling: none, shrunk: null, attempts: 1 };
    return Json.of({ ...begun, gate });
  });

const everyNow = (chance: Chance): boolean => chance.is(0.1);

/** Bugs that somebody could make. Each must be caught. */
export const plantedBugs: Readonly<Record<string, Mutation>> = {
  "the gate reserves no input": asking("begin", (argument) => {
    const { ask } = Json.as<BeginArgument>(argument);
    return { ...argument, ask: ask && { ...ask, inputTokens: 0 } };
  }),
  "a cancelled run passes the gate": (program) => granting(program, "cancelled"),
  "an ended run keeps its slot": writing("slots", (value, object, method) => {
    const before = Json.as<Record<string, Slot> | null>(object.get("slots"));
    return method === "end" ? { ...before, ...Json.as<Record<string, Slot>>(value) } : value;
  }),
  "a doubt is forgotten": writing("tree", (value) => {
    const tree = Json.as<TreeRecord>(value);
    const none = { tokens: 0, cost: 0 };
    return { ...tree, ledger: { ...tree.ledger, account: { ...tree.ledger.account, inDoubt: none } } };
  }),
  "a wake-up is lost": (program, chance) =>
    change(program, (_, run) => (object, argument) => {
      const wake: ObjectContext["wake"] = (...given) => {
        if (!everyNow(chance)) object.wake(...given);
      };
      return run({ ...delegating(object), wake }, argument);
    }),
  "a settlement is booked at more than was billed": asking("end", (argument) => {
    const reports = Json.as<readonly Report[]>(argument["reports"] ?? []);
    return { ...argument, reports: reports.map(dearer) };
  }),
  "a lost tool call is run again unasked": asking("begin", (argument) => ({ ...argument, rerun: true })),
  "a cancel is not heard": (program) =>
    change(program, (_, run) => (object, argument) => {
      const reply = run({ ...delegating(object), cancel: () => undefined }, argument);
      if (!isJsonObject(reply) || !Array.isArray(reply["items"])) return reply;
      const news = Json.as<News>(reply);
      return Json.of({ ...news, items: news.items.filter(({ kind }) => kind !== "cancel") });
    }),
  "an event is not told": writing("tree", (value) => {
    const tree = Json.as<TreeRecord>(value);
    return { ...tree, tail: tree.tail.filter(({ seq }) => seq % 13 !== 0) };
  }),
  "a step is made twice": forgetful,
  "a paused run passes the gate": (program) => granting(program, "paused"),
  "hiring counts one seat too many": (program) =>
    change(program, (method, run) => (object, argument) => {
      if (method !== "hire") return run(object, argument);
      const get: ObjectContext["get"] = (name) =>
        name === "tree" ? seats(object.get(name), 1) : object.get(name);
      const set: ObjectContext["set"] = (name, value) =>
        object.set(name, name === "tree" ? seats(value, -1) : value);
      return run({ ...delegating(object), get, set }, argument);
    }),
};

function dearer(report: Report): Report {
  const { settle } = report;
  if (!settle?.usage) return report;
  const usage = { ...settle.usage, output: settle.usage.output * 2 + 1 };
  return { ...report, settle: { ...settle, usage } };
}

function seats(value: Json, more: number): Json {
  const tree = Json.as<TreeRecord>(value);
  const { spawn } = tree.ledger;
  const ledger = { ...tree.ledger, spawn: { ...spawn, maxAgents: spawn.maxAgents + more } };
  return Json.of({ ...tree, ledger });
}
