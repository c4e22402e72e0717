import { eventTypes, type Hook, type ReeveEvent } from "#kernel";
import type { HookSet } from "./hook-manager.ts";

/** Keeps the latest events of an agent, of every type. */
export class RunLogger implements HookSet {
  readonly #size: number;
  #events: ReeveEvent[] = [];
  readonly hooks: HookSet["hooks"];

  constructor(options: { /** Default: 1,000. */ readonly size?: number } = {}) {
    this.#size = options.size ?? 1_000;
    const keep: Hook = (event) => {
      this.#events.push(event);
      if (this.#events.length > this.#size) this.#events = this.#events.slice(-this.#size);
    };
    this.hooks = Object.fromEntries(eventTypes.map((type) => [type, keep]));
  }

  get events(): readonly ReeveEvent[] {
    return this.#events;
  }
}
