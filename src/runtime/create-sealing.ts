import { withVectors, type Engine, type Keys, type Store, type VectorStore } from "#kernel";
import { defaultKeys, sealedStore, Seals, storedKeys } from "#sealing";

/** The keys of a runtime, and the seals that its engine, store and streams share. */
export interface RuntimeSealing {
  readonly keys: Keys;
  readonly seals: Seals;
}

/**
 * Decides the sealing of a runtime. Null: nothing is sealed, because nothing leaves the process and no keys were given.
 * Keys that cannot be destroyed one by one only wrap those that a durable store keeps.
 */
export function createSealing({
  engine,
  store,
  keys: given = engine.durable ? defaultKeys() : undefined,
}: {
  readonly engine: Engine;
  readonly store?: Store;
  readonly keys?: Keys | undefined;
}): RuntimeSealing | null {
  if (!given) return null;
  const keys = store?.durable && !given.destroy ? storedKeys(store.keys, given) : given;
  const seals = new Seals(keys);
  if (!keys.destroy) return { keys, seals };
  const destroy = async (partition: string): Promise<void> => {
    await keys.destroy?.(partition);
    seals.forget(partition);
  };
  return { keys: { getRing: (partition) => keys.getRing(partition), destroy }, seals };
}

/**
 * Returns the store of a runtime. A durable store seals its content, if there are keys. A separate vector store is not
 * sealed. @throws TypeError for vectors without a store.
 */
export function sealStore(
  { store, vectors }: { readonly store?: Store; readonly vectors?: VectorStore },
  sealing: RuntimeSealing | null,
): Store | undefined {
  const sealed = store?.durable && sealing ? sealedStore(store, sealing.keys, sealing.seals) : store;
  if (!vectors) return sealed;
  if (!sealed) throw new TypeError("vectors also need a store: set createRuntime({ store, vectors })");
  return withVectors(sealed, vectors);
}
