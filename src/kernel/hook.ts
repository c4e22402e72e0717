import type { EventType, ReeveEvent } from "./event.ts";

/** Watches. Gets a frozen event; what it throws, returns or breaks changes nothing in the run. */
export type Hook<Type extends EventType = EventType> = (event: ReeveEvent<Type>) => void | Promise<void>;

/** Where hooks are registered, per agent. */
export interface Hooks {
  /** Tells everybody who watches this type. Never throws, never waits longer than its timeout. */
  dispatch(event: ReeveEvent): Promise<void>;
  /** Calls `hook` for each event of `type`, once per executed attempt and never on replay. Returns the way out. */
  on<Type extends EventType>(type: Type, hook: Hook<Type>): () => void;
}
