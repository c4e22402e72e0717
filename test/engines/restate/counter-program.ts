import { randomUUID } from "node:crypto";
import {
  type Engine,
  type EngineProgram,
  IdConflictError,
  Json,
  type ObjectAddress,
  type ObjectDefinition,
  type Operation,
  type ExecutionPrimitives,
  RunId,
  type SinkDefinition,
  TreeId,
} from "#kernel";
import { defaultKeys, Seals } from "#sealing";
import { withBatch } from "#tree";

const type = "counter";

/** The value of `now` in each try of `timed`. */
export const tryTimes: number[] = [];

/** The value of `hostedSince` in each try of `timed`. */
export const tryHosts: number[] = [];

/** The smallest object that uses every feature of an object: a total, a list of words, launched runs. */
const counter: ObjectDefinition = {
  type,
  lasting: { state: ["kept"], erasedMark: "erased" },
  methods: {
    add: (object, amount) => {
      const total = Number(object.get("total")) + Number(amount);
      object.set("total", total);
      return total;
    },
    addAndThrow: (object, amount) => {
      object.set("total", Number(object.get("total")) + Number(amount));
      object.send({ type, key: `${object.key}-other` }, "add", 1);
      throw new IdConflictError({ id: object.key });
    },
    refuse: (_, why) => {
      throw new RangeError(Json.as<string>(why));
    },
    breakDown: () => {
      throw new RangeError("out of bounds");
    },
    rewrite: (object) => {
      const before = object.get("total");
      object.set("total", 7);
      const written = object.get("total");
      object.clear("total");
      return [before, written, object.get("total")];
    },
    say: (object, word) => {
      object.set("words", [...Json.as<Json[]>(object.get("words") ?? []), word]);
      return null;
    },
    /** Reads, writes and calls in turn: each call is a place where it is left and tried again. */
    addEverywhere: (object, keys) =>
      Json.as<string[]>(keys).map((key) => {
        const own = Number(object.get(key)) + 1;
        object.set(key, own);
        return object.call({ type, key }, "add", own);
      }),
    addElsewhereLater: (object, key) => {
      object.send({ type, key: Json.as<string>(key) }, "add", 1, { delayMs: 30 });
      return null;
    },
    /** Notes the time of every try, before and after something has to be fetched. */
    noteTimes: (object, keys) => {
      const before = object.now();
      for (const key of Json.as<string[]>(keys)) {
        tryTimes.push(object.now());
        tryHosts.push(object.hostedSince());
        object.call({ type, key }, "add", 1);
      }
      object.set("time", before);
      return [before, object.now()];
    },
    tally: (object, tries) => {
      object.send({ type: "tally", key: object.key }, "take", tries);
      return null;
    },
    throwElsewhere: (object, key) => object.call({ type, key: Json.as<string>(key) }, "addAndThrow", 1),
    launch: (object) => {
      const runId = RunId.root(TreeId.of(object.key));
      return object.launch({
        protocol: 0,
        tree: { type, key: object.key },
        runId,
        continuation: 0,
        input: null,
      });
    },
    wake: (object, argument) => {
      const { execution, name } = Json.as<{ execution: string; name: string }>(argument);
      object.wake(execution, name);
      return null;
    },
    cancel: (object, execution) => {
      object.cancel(Json.as<string>(execution));
      return null;
    },
    /** Sets and clears names, and lists those with a prefix before and after. */
    rename: (object, argument) => {
      const { from, to, prefix } = Json.as<Record<"from" | "to" | "prefix", string>>(argument);
      const before = object.list(prefix);
      object.clear(from);
      object.set(to, 1);
      return [before, object.list(prefix)];
    },
    /** Sets values, each under its name, and sends a word to another counter. */
    put: (object, argument) => {
      const { values, tell } = Json.as<{ values: Record<string, Json>; tell: Json }>(argument);
      object.prefetch(["erased"]);
      for (const [name, value] of Object.entries(values)) object.set(name, value);
      if (tell !== null) object.send({ type, key: object.key }, "say", tell, { delayMs: 1_500 });
      return null;
    },
    /** A method that does not end: it waits for itself. */
    hang: (object) => object.call({ type, key: object.key }, "hang", null),
  },
  queries: {
    total: (object) => object.get("total"),
    words: (object) => object.get("words") ?? [],
    value: (object, name) => object.get(Json.as<string>(name)),
    names: (object, prefix) => object.list(Json.as<string>(prefix)),
    write: (object) => {
      object.set("total", 1);
      return null;
    },
  },
};

const tries = new Map<string, number>();

/** Counts, fails a given number of times, and then returns its count. */
const tally: SinkDefinition = {
  type: "tally",
  async take(key, failures, ask) {
    const self = { type, key };
    const counted = [await ask(self, "add", 1), await ask(self, "add", 10)];
    const refused = await ask(self, "addAndThrow", 1).catch((error: unknown) => error);
    tries.set(key, (tries.get(key) ?? 0) + 1);
    if ((tries.get(key) ?? 0) <= Number(failures)) throw new Error("not yet");
    await ask(self, "say", [...counted, refused instanceof IdConflictError]);
  },
};

/** The counters, with runs whose body the test provides. */
export function counterProgram(run: EngineProgram["run"]): EngineProgram {
  return {
    build: "counters",
    objects: [withBatch(counter)],
    sinks: [tally],
    sealing: new Seals(defaultKeys()),
    run,
  };
}

const bodies = new Map<string, (primitives: ExecutionPrimitives) => Promise<void>>();

/** A program in which each test brings the body of its own run: see {@link launch}. */
export const program = counterProgram(async (primitives) =>
  bodies.get(primitives.launch.tree.key)?.(primitives),
);

/** An object that no other test has touched. */
export function fresh(): ObjectAddress {
  return { type, key: randomUUID() };
}

/** A run that a test has launched. */
export interface Launched<T> {
  readonly tree: ObjectAddress;
  readonly execution: string;
  /** The result of the body, after any number of replays. */
  readonly result: Promise<T>;
}

/** Launches a run with this body. */
export async function launch<T>(
  engine: Engine,
  body: (primitives: ExecutionPrimitives) => Promise<T>,
): Promise<Launched<T>> {
  const tree = fresh();
  const { promise, resolve } = Promise.withResolvers<T>();
  bodies.set(tree.key, async (primitives) => resolve(await body(primitives)));
  return { tree, execution: Json.as<string>(await engine.call(tree, "launch", null)), result: promise };
}

/** Waits for one operation alone and returns its value. */
export async function settle(primitives: ExecutionPrimitives, operation: Operation): Promise<Json> {
  const { outcome } = await primitives.race(new Set([operation]));
  if (!outcome?.ok) throw new Error(`no value: ${JSON.stringify(outcome)}`);
  return outcome.value;
}

/** Processes items in sequence. */
export async function inTurn<T, R>(
  items: readonly T[],
  each: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await each(item));
  return results;
}

/** Evaluates the query each time the object may have changed, until the condition holds. */
export async function waitUntil<T>(
  engine: Engine,
  object: ObjectAddress,
  query: string,
  isAsWished: (value: T) => boolean,
): Promise<T> {
  const value = Json.as<T>(await engine.call(object, query, null));
  if (isAsWished(value)) return value;
  await engine.waitForChange(object, { signal: AbortSignal.timeout(60_000) });
  return waitUntil(engine, object, query, isAsWished);
}
