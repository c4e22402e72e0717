import {
  delegateObject,
  isJsonObject,
  Json,
  type EngineProgram,
  type JsonObject,
  type ObjectContext,
  type ObjectMethod,
} from "#kernel";
import type { BeginArgument, InboxBatch, ReplyOf, RunReply } from "../../src/tree/protocol.ts";
import type { TreeRecord } from "../../src/tree/state/records.ts";
import type { Report } from "../../src/tree/report.ts";
import type { Chance } from "./chance.ts";
import type { Mutation } from "./simulate.ts";
import { mapStored } from "./stored-value.ts";

/** The methods of one type of object, by default the tree's, one of them changed. */
function change(
  program: EngineProgram,
  wrap: (name: string, method: ObjectMethod) => ObjectMethod,
  type = "tree",
): EngineProgram {
  const objects = program.objects.map((definition) => {
    if (definition.type !== type) return definition;
    const methods = Object.entries(definition.methods).map(([name, method]) => [name, wrap(name, method)]);
    return { ...definition, methods: Object.fromEntries(methods) };
  });
  return { ...program, objects };
}

/** Changes the argument of one method. */
const asking =
  (method: string, edit: (argument: JsonObject, object: ObjectContext) => object): Mutation =>
  (program) =>
    change(program, (name, run) => {
      if (name !== method) return run;
      return (object, argument) =>
        isJsonObject(argument) ? run(object, Json.of(edit(argument, object))) : run(object, argument);
    });

/** Changes the value written under one key. */
const writing =
  (key: string, edit: (value: Json, object: ObjectContext, method: string) => unknown): Mutation =>
  (program) =>
    change(program, (method, run) => (object, argument) => {
      const set: ObjectContext["set"] = (name, value) =>
        object.set(
          name,
          name === key ? mapStored(value, (now) => Json.of(edit(now, object, method))) : value,
        );
      return run(delegateObject(object, { set }), argument);
    });

/** A journal that forgets: the result of a step is computed again. */
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

/** A gate that grants what it should refuse. */
const granting = (program: EngineProgram, why: string): EngineProgram =>
  change(program, (name, run) => (object, argument) => {
    const reply = run(object, argument);
    if (name !== "begin") return reply;
    const { reply: begun, ...rest } = Json.as<RunReply<ReplyOf<"begin">>>(reply);
    if (begun.gate.kind !== "refused" || begun.gate.why !== why) return reply;
    const none = { tokens: 0, costMicros: 0 };
    const gate = { kind: "granted", outputTokens: 16, ceiling: none, shrunk: null, attempts: 1 };
    return Json.of({ ...rest, reply: { ...begun, gate } });
  });

const everyNow = (chance: Chance): boolean => chance.is(0.1);

const withoutLast = (events: Json): Json => Json.as<readonly Json[]>(events).slice(0, -1);

/** Plausible bugs. Each must be caught. */
export const plantedBugs: Readonly<Record<string, Mutation>> = {
  "the gate reserves no input": asking("begin", (argument) => {
    const { ask } = Json.as<BeginArgument>(argument);
    return { ...argument, ask: ask && { ...ask, inputTokens: 0 } };
  }),
  "a cancelled run passes the gate": (program) => granting(program, "cancelled"),
  "an ended run keeps its slot": (program) =>
    change(program, (method, run) => (object, argument) => {
      const set: ObjectContext["set"] = (name, value) => {
        const isFreed = method === "end" && name.startsWith("slot/") && value === null;
        if (!isFreed) object.set(name, value);
      };
      return run(delegateObject(object, { set }), argument);
    }),
  "a doubt is forgotten": writing("tree", (value) => {
    const tree = Json.as<TreeRecord>(value);
    const none = { tokens: 0, costMicros: 0 };
    return { ...tree, ledger: { ...tree.ledger, account: { ...tree.ledger.account, inDoubt: none } } };
  }),
  "a wake-up is lost": (program, chance) =>
    change(program, (_, run) => (object, argument) => {
      const wake: ObjectContext["wake"] = (...given) => {
        if (!everyNow(chance)) object.wake(...given);
      };
      return run(delegateObject(object, { wake }), argument);
    }),
  "a settlement is booked at more than was billed": asking("end", (argument) => {
    const reports = Json.as<readonly Report[]>(argument["reports"] ?? []);
    return { ...argument, reports: reports.map(dearer) };
  }),
  "a lost tool call is run again unasked": asking("begin", (argument) => ({ ...argument, rerun: true })),
  "a cancel is not heard": (program) =>
    change(program, (_, run) => (object, argument) => {
      const reply = run(delegateObject(object, { cancel: () => undefined }), argument);
      const answer = isJsonObject(reply) ? reply["reply"] : null;
      if (!isJsonObject(answer) || !Array.isArray(answer["items"])) return reply;
      const news = Json.as<InboxBatch>(answer);
      return Json.of({ reply: { ...news, items: news.items.filter(({ kind }) => kind !== "cancel") } });
    }),
  "an event is not told": (program) =>
    change(program, (_, run) => (object, argument) => {
      const set: ObjectContext["set"] = (name, value) =>
        object.set(name, name.startsWith("event/") ? mapStored(value, withoutLast) : value);
      return run(delegateObject(object, { set }), argument);
    }),
  "a step is made twice": forgetful,
  "a paused run passes the gate": (program) => granting(program, "paused"),
  "a superseded execution passes the gate": (program) => granting(program, "superseded"),
  "a run passes the gate after its deadline": (program) => granting(program, "deadline"),
  "the tenant lends what is asked for, whatever it has": (program) =>
    change(
      program,
      (name, run) => (object, argument) => {
        const reply = run(object, argument);
        if (name !== "requestQuota" || !isJsonObject(reply) || !isJsonObject(argument)) return reply;
        return { ...reply, tokens: argument["tokens"] ?? 0, costMicros: argument["costMicros"] ?? 0 };
      },
      "tenant",
    ),
  "the second page of an inbox is lost": (program) =>
    change(program, (_, run) => (object, argument) => {
      const set: ObjectContext["set"] = (name, value) => {
        if (!name.startsWith("inbox/")) object.set(name, value);
      };
      return run(delegateObject(object, { set }), argument);
    }),
  "hiring counts one seat too many": (program) =>
    change(program, (method, run) => (object, argument) => {
      if (method !== "spawn") return run(object, argument);
      const get: ObjectContext["get"] = (name) =>
        name === "tree" ? seats(object.get(name), 1) : object.get(name);
      const set: ObjectContext["set"] = (name, value) =>
        object.set(name, name === "tree" ? seats(value, -1) : value);
      return run(delegateObject(object, { get, set }), argument);
    }),
};

function dearer(report: Report): Report {
  const { settle } = report;
  if (!settle?.usage) return report;
  const usage = { ...settle.usage, output: settle.usage.output * 2 + 1 };
  return { ...report, settle: { ...settle, usage } };
}

function seats(stored: Json, more: number): Json {
  return mapStored(stored, (value) => {
    const tree = Json.as<TreeRecord>(value);
    const { spawn } = tree.ledger;
    const ledger = { ...tree.ledger, spawn: { ...spawn, maxAgents: spawn.maxAgents + more } };
    return Json.of({ ...tree, ledger });
  });
}
