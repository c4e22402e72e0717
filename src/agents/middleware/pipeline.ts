import type { Middleware } from "#kernel";

/**
 * Runs a call through its layers, first registered outermost. A layer that neither sets a result nor calls `next` is an
 * error.
 */
export async function throughLayers<Context extends { result: unknown }>(
  layers: readonly Middleware<Context>[],
  context: Context,
  core: () => Promise<void>,
): Promise<void> {
  const enter = async (index: number): Promise<void> => {
    const layer = layers[index];
    if (!layer) return attribute(core, null);
    const next = guardNext(() => enter(index + 1), layer.repeats ?? false);
    await attribute(() => layer.process(context, next), layerName(layer, index));
    if (context.result === undefined)
      throw new TypeError(`middleware ${index} returned without calling next() or setting context.result`);
  };
  await enter(0);
}

/** The layer that threw an error. Null: the wrapped call threw it. */
const thrower = new WeakMap<object, string | null>();

/** Runs a layer, or the wrapped call. An error keeps the name of the first that threw it. */
async function attribute(run: () => Promise<void>, layer: string | null): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof Error && !thrower.has(error)) thrower.set(error, layer);
    throw error;
  }
}

function layerName(layer: Middleware<never>, index: number): string {
  const name = middlewareName(layer);
  return `middleware ${index + 1}${name === null ? "" : ` (${name})`}`;
}

/** Returns the name of a layer, its own or its class's. Null: it has neither. */
export function middlewareName({ name, constructor }: Middleware<never>): string | null {
  return name ?? (constructor.name === "Object" ? null : constructor.name);
}

/** Returns the name of the layer that threw an error. Null if none did. */
export function failedLayer(error: unknown): string | null {
  return error instanceof Error ? (thrower.get(error) ?? null) : null;
}

/** Guards `next`: a second call is allowed only if the layer repeats, and only when the first has settled. */
function guardNext(run: () => Promise<void>, repeats: boolean): () => Promise<void> {
  let state: "new" | "running" | "settled" = "new";
  return async () => {
    if (state === "running") throw new TypeError("next() was called again before the first call settled");
    if (state === "settled" && !repeats)
      throw new TypeError("next() was called twice: set `repeats: true` to allow it");
    state = "running";
    try {
      await run();
    } finally {
      state = "settled";
    }
  };
}
