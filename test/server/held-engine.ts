import type { Engine } from "reeve/engine";
import { local } from "reeve/engines/local";

/** The local engine, which opens trees on request of the test. */
export interface HeldEngine extends Engine {
  /** Trees that wait to be opened. */
  readonly held: readonly string[];
  /** Every method that was called, in order. */
  readonly called: readonly string[];
  /** Opens the one that waits longest. */
  letOne(): void;
}

export function heldEngine(): HeldEngine {
  const engine = local();
  const called: string[] = [];
  const waiting: { readonly key: string; readonly go: () => void }[] = [];
  return {
    ...engine,
    called,
    call: async (to, method, argument) => {
      called.push(method);
      const isOpening = method === "open";
      if (isOpening) await new Promise<void>((go) => waiting.push({ key: to.key, go }));
      return engine.call(to, method, argument);
    },
    get held() {
      return waiting.map(({ key }) => key);
    },
    letOne: () => waiting.shift()?.go(),
  };
}
