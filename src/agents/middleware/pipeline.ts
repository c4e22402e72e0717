import type { Middleware } from "#kernel";

/**
 * Runs a call through its layers, first registered outermost. A layer that neither sets a result nor calls `next`
 * has forgotten something: that is an error, never a silent nothing.
 */
export async function throughLayers<Context extends { result: unknown }>(
  layers: readonly Middleware<Context>[],
  context: Context,
  core: () => Promise<void>,
): Promise<void> {
  const enter = async (index: number): Promise<void> => {
    const layer = layers[index];
    if (!layer) return core();
    const next = once(() => enter(index + 1), layer.repeats ?? false);
    await layer.process(context, next);
    if (context.result === undefined) throw new TypeError(`middleware ${index} ended without a result`);
  };
  await enter(0);
}

/** Guards `next`: a second call only where the layer says it repeats, and only when the first has settled. */
function once(run: () => Promise<void>, repeats: boolean): () => Promise<void> {
  let state: "new" | "running" | "settled" = "new";
  return async () => {
    if (state === "running") throw new TypeError("next() was called again before it had settled");
    if (state === "settled" && !repeats)
      throw new TypeError("next() was called twice: say `repeats: true` to do so");
    state = "running";
    try {
      await run();
    } finally {
      state = "settled";
    }
  };
}
