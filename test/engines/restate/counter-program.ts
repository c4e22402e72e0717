import { randomUUID } from "node:crypto";
import {
  type Engine,
  type EngineProgram,
  IdConflictError,
  Json,
  type ObjectAddress,
  type ObjectDefinition,
  type Operation,
  type Primitives,
  RunId,
  type SinkDefinition,
  TreeId,
} from "#kernel";

const type = "counter";

/** The smallest object that shows everything an object can do: a total, a list of words, the runs it launches. */
const counter: ObjectDefinition = {
  type,
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
    tally: (object, tries) => {
      object.send({ type: "tally", key: object.key }, "take", tries);
      return null;
    },
    throwElsewhere: (object, key) => object.call({ type, key: Json.as<string>(key) }, "addAndThrow", 1),
    launch: (object) => {
      const runId = RunId.root(TreeId.of(object.key));
      return object.launch({ tree: { type, key: object.key }, runId, continuation: 0, entrance: null });
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
    /** A method that does not end: it waits for itself. */
    hang: (object) => object.call({ type, key: object.key }, "hang", null),
  },
  queries: {
    total: (object) => object.get("total"),
    words: (object) => object.get("words") ?? [],
    write: (object) => {
      object.set("total", 1);
      return null;
    },
  },
};

const tries = new Map<string, number>();

/** Counts, fails as often as it is told, and then says what it has counted. */
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

/** The counters, and whatever body the test gives to runs. */
export function counterProgram(run: EngineProgram["run"]): EngineProgram {
  return { build: "counters", objects: [counter], sinks: [tally], run };
}

const bodies = new Map<string, (primitives: Primitives) => Promise<void>>();

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
  /** What the body returned, after however many replays. */
  readonly result: Promise<T>;
}

/** Launches a run with this body. */
export async function launch<T>(
  engine: Engine,
  body: (primitives: Primitives) => Promise<T>,
): Promise<Launched<T>> {
  const tree = fresh();
  const { promise, resolve } = Promise.withResolvers<T>();
  bodies.set(tree.key, async (primitives) => resolve(await body(primitives)));
  return { tree, execution: Json.as<string>(await engine.call(tree, "launch", null)), result: promise };
}

/** Waits for one operation alone and returns its value. */
export async function settle(primitives: Primitives, operation: Operation): Promise<Json> {
  const { outcome } = await primitives.pick([operation]);
  if (!outcome?.ok) throw new Error(`no value: ${JSON.stringify(outcome)}`);
  return outcome.value;
}

/** Does one after the other. */
export async function inTurn<T, R>(
  items: readonly T[],
  each: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await each(item));
  return results;
}

/** Looks at what the query answers each time the object may have changed, until it is as wished. */
export async function until<T>(
  engine: Engine,
  object: ObjectAddress,
  query: string,
  isAsWished: (value: T) => boolean,
): Promise<T> {
  const value = Json.as<T>(await engine.call(object, query, null));
  if (isAsWished(value)) return value;
  await engine.changed(object, AbortSignal.timeout(60_000));
  return until(engine, object, query, isAsWished);
}
