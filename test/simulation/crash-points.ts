import {
  delegateObject,
  delegatePrimitives,
  type EngineProgram,
  type Json,
  type ObjectContext,
  type ObjectDefinition,
  type ObjectMethod,
  type Operation,
  type ExecutionPrimitives,
  type SinkDefinition,
  type StepIo,
} from "#kernel";

/** Called with the name of each crash point. It may not return. */
export type At = (point: string) => void;

/** Returns a program that names the points before and after each of its writes. It changes nothing else. */
export function crashPoints(program: EngineProgram, at: At): EngineProgram {
  return {
    ...program,
    objects: program.objects.map((definition) => pointedObject(definition, at)),
    sinks: program.sinks.map((definition) => pointedSink(definition, at)),
    run: async (primitives) => {
      at("run: before");
      await program.run(pointedPrimitives(primitives, at));
      at("run: after");
    },
  };
}

/** A store, or a part of one, that names the places before and after each write. */
export function crashPointsOf<Part extends object>(part: Part, name: string, at: At): Part {
  return new Proxy(part, {
    get(target, key) {
      const found: unknown = Reflect.get(target, key);
      if (typeof key !== "string") return found;
      if (typeof found === "object" && found !== null) return crashPointsOf(found, `${name} ${key}`, at);
      if (typeof found !== "function") return found;
      if (reads.has(key)) return (...given: readonly unknown[]) => Reflect.apply(found, target, given);
      return async (...given: readonly unknown[]): Promise<unknown> => {
        at(`${name}.${key}: before`);
        const reply: unknown = await Reflect.apply(found, target, given);
        at(`${name}.${key}: after`);
        return reply;
      };
    },
  });
}

/** Methods that change nothing. */
const reads = new Set(["read", "waitForEvents", "list", "get", "head", "tree", "findRecorded"]);

function pointedSink(sink: SinkDefinition, at: At): SinkDefinition {
  return {
    type: sink.type,
    async take(key, argument, ask) {
      at(`sink ${sink.type}: before`);
      await sink.take(key, argument, async (to, method, given) => {
        at(`sink ${sink.type} asks ${method}: before`);
        const reply = await ask(to, method, given);
        at(`sink ${sink.type} asks ${method}: after`);
        return reply;
      });
      at(`sink ${sink.type}: after`);
    },
  };
}

function pointedObject(definition: ObjectDefinition, at: At): ObjectDefinition {
  const { type } = definition;
  const methods = Object.entries(definition.methods).map(([name, method]): [string, ObjectMethod] => [
    name,
    (object, argument) => {
      const reply = method(pointedContext(object, `${type}.${name}`, at), argument);
      at(`${type}.${name}: before commit`);
      return reply;
    },
  ]);
  return { ...definition, methods: Object.fromEntries(methods) };
}

/** Each write of a method. The place after one is the place before the next, or before the commit. */
function pointedContext(object: ObjectContext, method: string, at: At): ObjectContext {
  const before = (what: string): void => at(`${method}: before ${what}`);
  return delegateObject(object, {
    set: (name, value) => {
      before(`set ${kindOf(name)}`);
      object.set(name, value);
    },
    clear: (name) => {
      before(`clear ${kindOf(name)}`);
      object.clear(name);
    },
    send: (...given) => {
      before(`send ${given[1]}`);
      object.send(...given);
    },
    call: (...given) => {
      before(`call ${given[1]}`);
      const reply = object.call(...given);
      at(`${method}: after call ${given[1]}`);
      return reply;
    },
    launch: (run) => {
      before("launch");
      return object.launch(run);
    },
    wake: (...given) => {
      before("wake");
      object.wake(...given);
    },
    cancel: (execution) => {
      before("cancel");
      object.cancel(execution);
    },
    kill: (execution) => {
      before("kill");
      object.kill(execution);
    },
  });
}

/** Returns the first part of a key: the kind of value, without its owner. */
const kindOf = (name: string): string => upTo(name, "/");
/** Returns the kind of a step, without its number. */
const kindOfStep = (name: string): string => upTo(name, ":");

function upTo(name: string, mark: string): string {
  const index = name.indexOf(mark);
  return index === -1 ? name : name.slice(0, index);
}

function pointedPrimitives(inner: ExecutionPrimitives, at: At): ExecutionPrimitives {
  const names = new Map<Operation, string>();
  const issued = (name: string, issue: () => Operation): Operation => {
    at(`${name}: before`);
    const operation = issue();
    names.set(operation, name);
    at(`${name}: issued`);
    return operation;
  };
  return delegatePrimitives(inner, {
    callUnjournaled: async (to, method, argument) => {
      at(`direct ${method}: before`);
      const reply = await inner.callUnjournaled(to, method, argument);
      at(`direct ${method}: after`);
      return reply;
    },
    step: (name, run) =>
      issued(`step ${kindOfStep(name)}`, () => inner.step(name, (io) => pointedStep(name, run, io, at))),
    call: (to, method, argument) => issued(`call ${method}`, () => inner.call(to, method, argument)),
    wake: (name) => issued("wake", () => inner.wake(name)),
    sleepUntil: (moment) => issued("sleep", () => inner.sleepUntil(moment)),
    waitForCancel: () => issued("cancelled", () => inner.waitForCancel()),
    race: async (open) => {
      const winner = await inner.race(open);
      // Its result, and that it was first, are journaled by now.
      if (inner.isLive) at(`${names.get(winner) ?? "operation"}: journaled`);
      return winner;
    },
  });
}

async function pointedStep(
  name: string,
  run: (io: StepIo) => Promise<Json>,
  io: StepIo,
  at: At,
): Promise<Json> {
  const kind = kindOfStep(name);
  at(`step ${kind}: begun`);
  const result = await run({
    get signal() {
      return io.signal;
    },
    get epoch() {
      return io.epoch;
    },
    attempt: io.attempt,
    call: async (to, method, argument) => {
      at(`gate ${method}: before`);
      const reply = await io.call(to, method, argument);
      at(`gate ${method}: after`);
      return reply;
    },
  });
  at(`step ${kind}: done, not journaled`);
  return result;
}
