import type {
  EngineProgram,
  Json,
  ObjectContext,
  ObjectDefinition,
  ObjectMethod,
  Operation,
  Primitives,
  SinkDefinition,
  StepIo,
} from "#kernel";

/** Told the name of each place where a process may end. It may not return. */
export type At = (point: string) => void;

/** A program that names the places before and after each of its writes. It does nothing else. */
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

/** These change nothing. */
const reads = new Set(["read", "changed", "list", "get", "head", "tree", "known"]);

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
      const reply = method(new PointedObject(object, `${type}.${name}`, at), argument);
      at(`${type}.${name}: before commit`);
      return reply;
    },
  ]);
  return { ...definition, methods: Object.fromEntries(methods) };
}

/** Each write of a method. The place after one is the place before the next, or before the commit. */
class PointedObject implements ObjectContext {
  readonly key: string;
  readonly #object: ObjectContext;
  readonly #method: string;
  readonly #at: At;

  constructor(object: ObjectContext, method: string, at: At) {
    this.key = object.key;
    this.#object = object;
    this.#method = method;
    this.#at = at;
  }

  get(name: string): Json {
    return this.#object.get(name);
  }

  expect(names: readonly string[]): void {
    this.#object.expect(names);
  }

  set(name: string, value: Json): void {
    this.#before(`set ${kindOf(name)}`);
    this.#object.set(name, value);
  }

  keep(name: string, value: Json): void {
    this.#before(`keep ${kindOf(name)}`);
    this.#object.keep(name, value);
  }

  clear(name: string): void {
    this.#before(`clear ${kindOf(name)}`);
    this.#object.clear(name);
  }

  send(...given: Parameters<ObjectContext["send"]>): void {
    this.#before(`send ${given[1]}`);
    this.#object.send(...given);
  }

  call(...given: Parameters<ObjectContext["call"]>): Json {
    this.#before(`call ${given[1]}`);
    const reply = this.#object.call(...given);
    this.#at(`${this.#method}: after call ${given[1]}`);
    return reply;
  }

  launch(...given: Parameters<ObjectContext["launch"]>): string {
    this.#before("launch");
    return this.#object.launch(...given);
  }

  wake(...given: Parameters<ObjectContext["wake"]>): void {
    this.#before("wake");
    this.#object.wake(...given);
  }

  cancel(...given: Parameters<ObjectContext["cancel"]>): void {
    this.#before("cancel");
    this.#object.cancel(...given);
  }

  #before(what: string): void {
    this.#at(`${this.#method}: before ${what}`);
  }
}

/** The first part of a key: what is stored there, not whose it is. */
const kindOf = (name: string): string => upTo(name, "/");
/** What a step does, without its number. */
const kindOfStep = (name: string): string => upTo(name, ":");

function upTo(name: string, mark: string): string {
  const index = name.indexOf(mark);
  return index === -1 ? name : name.slice(0, index);
}

function pointedPrimitives(inner: Primitives, at: At): Primitives {
  const names = new Map<Operation, string>();
  const issued = (name: string, issue: () => Operation): Operation => {
    at(`${name}: before`);
    const operation = issue();
    names.set(operation, name);
    at(`${name}: issued`);
    return operation;
  };
  return {
    launch: inner.launch,
    epoch: inner.epoch,
    canPause: inner.canPause,
    get isLive() {
      return inner.isLive;
    },
    now: () => inner.now(),
    direct: async (to, method, argument) => {
      at(`direct ${method}: before`);
      const reply = await inner.direct(to, method, argument);
      at(`direct ${method}: after`);
      return reply;
    },
    step: (name, run) =>
      issued(`step ${kindOfStep(name)}`, () => inner.step(name, (io) => pointedStep(name, run, io, at))),
    call: (to, method, argument) => issued(`call ${method}`, () => inner.call(to, method, argument)),
    wake: (name) => issued("wake", () => inner.wake(name)),
    sleepUntil: (moment) => issued("sleep", () => inner.sleepUntil(moment)),
    cancelled: () => issued("cancelled", () => inner.cancelled()),
    pick: async (open) => {
      const winner = await inner.pick(open);
      // Its result, and that it was first, are journaled by now.
      if (inner.isLive) at(`${names.get(winner) ?? "operation"}: journaled`);
      return winner;
    },
    drain: () => inner.drain(),
  };
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
