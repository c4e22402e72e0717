import type { EventType, NumberedEvent } from "./event.ts";

/** An observer of events. It gets a frozen event. Its errors and results do not affect the run. */
export type Hook<Type extends EventType = EventType> = (event: NumberedEvent<Type>) => void | Promise<void>;

/** The registry of an agent's hooks. */
export interface Hooks {
  /**
   * Calls every hook of this event's type. `onError` gets each hook's error. Never throws, never waits longer than its
   * timeout.
   */
  dispatch(event: NumberedEvent, onError?: (error: unknown) => void): Promise<void>;
  /**
   * Registers `hook` for events of `type`, called after they are appended to the tree's stream. At most once per event:
   * a crash may lose a call. Returns a function that removes the hook.
   */
  on<Type extends EventType>(type: Type, hook: Hook<Type>): () => void;
}
