import type { EventType, NumberedEvent } from "./event.ts";

/** Watches. Gets a frozen event; what it throws, returns or breaks changes nothing in the run. */
export type Hook<Type extends EventType = EventType> = (event: NumberedEvent<Type>) => void | Promise<void>;

/** Where hooks are registered, per agent. */
export interface Hooks {
  /** Tells everybody who watches this type. `onError` gets what a hook throws. Never throws, never waits longer than its timeout. */
  dispatch(event: NumberedEvent, onError?: (error: unknown) => void): Promise<void>;
  /**
   * Calls `hook` with each event of `type` as it is in the tree's stream, after it was appended: at most once. A crash may
   * lose a call. Returns a function that ends it.
   */
  on<Type extends EventType>(type: Type, hook: Hook<Type>): () => void;
}
