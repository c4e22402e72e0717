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
  TreeId,
} from "#kernel";

const type = "counter";

/** The smallest object that shows everything an object can do: a total, a list of words, the runs it launches. */
const counter: ObjectDefinition = {
  type,
  methods: {
    add: async (object, amount) => {
      const total = Number(await object.get("total")) + Number(amount);
      object.set("total", total);
      return total;
    },
    addAndThrow: async (object, amount) => {
      object.set("total", Number(await object.get("total")) + Number(amount));
      object.send({ type, key: `${object.key}-other` }, "add", 1);
      throw new IdConflictError({ id: object.key });
    },
    breakDown: async () => {
      throw new RangeError("out of bounds");
    },
    rewrite: async (object) => {
      const before = await object.get("total");
      object.set("total", 7);
      const written = await object.get("total");
      object.clear("total");
      return [before, written, await object.get("total")];
    },
    say: async (object, word) => {
      object.set("words", [...Json.as<Json[]>((await object.get("words")) ?? []), word]);
      return null;
    },
    /** Reads and calls side by side, the way users of promises do. */
    addEverywhere: (object, keys) =>
      Promise.all(
        Json.as<string[]>(keys).map(async (key) => {
          const own = Number(await object.get(key)) + 1;
          object.set(key, own);
          return object.call({ type, key }, "add", own);
        }),
      ),
    addElsewhereLater: async (object, key) => {
      object.send({ type, key: Json.as<string>(key) }, "add", 1, { delayMs: 30 });
      return null;
    },
    throwElsewhere: (object, key) => object.call({ type, key: Json.as<string>(key) }, "addAndThrow", 1),
    launch: async (object) => {
      const runId = RunId.root(TreeId.of(object.key));
      return object.launch({ tree: { type, key: object.key }, runId, continuation: 0 });
    },
    wake: async (object, argument) => {
      const { execution, name } = Json.as<{ execution: string; name: string }>(argument);
      object.wake(execution, name);
      return null;
    },
    cancel: async (object, execution) => {
      object.cancel(Json.as<string>(execution));
      return null;
    },
    /** A method that no method should be: one that does not end. */
    hang: () => new Promise(() => {}),
  },
  queries: {
    total: (object) => object.get("total"),
    words: async (object) => (await object.get("words")) ?? [],
    write: async (object) => {
      object.set("total", 1);
      return null;
    },
  },
};

/** The counters, and whatever body the test gives to runs. */
export function counterProgram(run: EngineProgram["run"]): EngineProgram {
  return { objects: [counter], run };
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
