import { expect, test } from "vitest";
import type { Json, ObjectDefinition } from "#kernel";
import { AesSeal, defaultKeys } from "#sealing";
import { StateValues } from "../../../src/engines/restate/hosting/state-values.ts";
import { StateSeals } from "../../../src/engines/restate/sealing/state-seals.ts";

const apart: ObjectDefinition = { type: "tree", methods: {}, queries: {} };
const together: ObjectDefinition = {
  ...apart,
  together: { under: "tree", has: (name) => name === "info" || name === "slot" },
};

/** The stored values of one object. */
class StoredObject {
  readonly values = new Map<string, Uint8Array>();
  readonly #seals: StateSeals;
  readonly #definition: ObjectDefinition;

  constructor(definition: ObjectDefinition, seals: StateSeals) {
    this.#definition = definition;
    this.#seals = seals;
  }

  static async create(definition: ObjectDefinition): Promise<StoredObject> {
    return new StoredObject(
      definition,
      new StateSeals(definition, "key", AesSeal.of("key", await defaultKeys().getRing("key"))),
    );
  }

  /** Returns the same values as an object with another definition. */
  as(definition: ObjectDefinition): StoredObject {
    const object = new StoredObject(definition, this.#seals);
    for (const [name, bytes] of this.values) object.values.set(name, bytes);
    return object;
  }

  /** Fetches names as one call does. Returns the call's values, and the names that it had to fetch. */
  async read(
    names: readonly string[],
  ): Promise<{ readonly state: StateValues; readonly fetched: readonly string[] }> {
    const state = new StateValues(this.#definition, this.#seals);
    const readStored = async (
      name: string,
      serde: { deserialize(bytes: Uint8Array): Json },
    ): Promise<Json> => {
      const bytes = this.values.get(name);
      return bytes ? serde.deserialize(bytes) : null;
    };
    const fetched: string[] = [];
    for (let missing = state.listMissing(names); missing.length > 0; missing = state.listMissing(names)) {
      fetched.push(...missing);
      await state.fetch(readStored, missing);
    }
    return { state, fetched };
  }

  /** Writes values as one call does, after it has fetched all of them. */
  async write(values: Readonly<Record<string, Json>>): Promise<void> {
    const { state } = await this.read(Object.keys(values));
    for (const { name, bytes } of state.seal(new Map(Object.entries(values)), false)) {
      if (bytes) this.values.set(name, bytes);
      else this.values.delete(name);
    }
  }
}

const all = ["tree", "info", "slot", "event"];

test("values that belong together are one stored value, and one fetch", async () => {
  const object = await StoredObject.create(together);
  await object.write({ tree: 1, info: "a", slot: null, event: true });
  expect([...object.values.keys()].toSorted()).toEqual(["event", "tree"]);
  const { state, fetched } = await object.read(all);
  expect(fetched).toEqual(["tree", "event"]);
  expect(all.map((name) => state.get(name))).toEqual([1, "a", null, true]);
  expect([...state.listNames(["event", "tree"])].toSorted()).toEqual(["event", "info", "tree"]);
});

test("a write of one value keeps the others, and a removed one is absent", async () => {
  const object = await StoredObject.create(together);
  await object.write({ tree: 1, info: "a", slot: "s" });
  await object.write({ slot: "t", info: null });
  const { state } = await object.read(["tree"]);
  expect(["tree", "info", "slot"].map((name) => state.get(name))).toEqual([1, null, "t"]);
  await object.write({ tree: null, slot: null });
  expect(object.values.size).toBe(0);
});

test("nothing else is fetched for an object that does not exist", async () => {
  const object = await StoredObject.create(together);
  const { state, fetched } = await object.read(["info", "slot"]);
  expect(fetched).toEqual(["tree"]);
  expect(state.get("slot")).toBeNull();
});

test("values that an earlier release has stored apart are read, and stay apart", async () => {
  const earlier = await StoredObject.create(apart);
  await earlier.write({ tree: { v: 1 }, info: "a", slot: "s" });
  const object = earlier.as(together);
  await object.write({ slot: "t" });
  expect([...object.values.keys()].toSorted()).toEqual(["info", "slot", "tree"]);
  const { state } = await object.read(all);
  expect(all.map((name) => state.get(name))).toEqual([{ v: 1 }, "a", "t", null]);
});

test("values that are too large together are stored apart, and stay apart", async () => {
  const object = await StoredObject.create(together);
  const large = "x".repeat(9_000_000);
  await object.write({ tree: 1, info: large });
  await object.write({ slot: large });
  expect([...object.values.keys()].toSorted()).toEqual(["info", "slot", "tree"]);
  await object.write({ slot: "small" });
  const { state } = await object.read(["tree", "info", "slot"]);
  expect([state.get("tree"), state.get("slot")]).toEqual([1, "small"]);
  expect(state.get("info")).toBe(large);
});
