import type { EventType, Hook, ReeveEvent } from "#kernel";
import type { HookSet } from "./hook-manager.ts";

const watched = [
  "run.start",
  "run.end",
  "cycle.start",
  "cycle.end",
  "model.start",
  "model.end",
  "tool.start",
  "tool.end",
  "guardrail.trip",
  "handoff.made",
  "flow.start",
  "flow.end",
  "turn.start",
  "turn.end",
  "retry.start",
  "retry.end",
] as const satisfies readonly EventType[];

/** Keeps the latest events of an agent, for whoever wants to know what it did. */
export class RunLogger implements HookSet {
  readonly #size: number;
  #events: ReeveEvent[] = [];
  readonly hooks: HookSet["hooks"];

  constructor(options: { /** Default 1,000. */ readonly size?: number } = {}) {
    this.#size = options.size ?? 1_000;
    const keep: Hook = (event) => {
      this.#events.push(event);
      if (this.#events.length > this.#size) this.#events = this.#events.slice(-this.#size);
    };
    this.hooks = Object.fromEntries(watched.map((type) => [type, keep]));
  }

  get events(): readonly ReeveEvent[] {
    return this.#events;
  }
}
