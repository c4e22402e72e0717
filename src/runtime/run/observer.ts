import {
  EventId,
  Json,
  type AgentId,
  type AttemptId,
  type EventPayloads,
  type EventType,
  type Hooks,
  type Primitives,
  type ReeveEvent,
  type RunId,
  type TreeId,
} from "#kernel";
import type { Driver } from "../driver/driver.ts";

/** Who an event speaks of. */
export interface EventSource {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly agent: AgentId;
}

/** Tells the tree's stream and the agent's hooks what happens: the stream once, the hooks never on replay. */
export class Observer {
  readonly #primitives: Primitives;
  readonly #driver: Driver;
  readonly #source: EventSource;
  readonly #hooks: Hooks | undefined;
  #count = 0;

  constructor(primitives: Primitives, driver: Driver, source: EventSource, hooks: Hooks | undefined) {
    this.#primitives = primitives;
    this.#driver = driver;
    this.#source = source;
    this.#hooks = hooks;
  }

  /** Agent code says something: it goes with the next call to the tree. */
  note<Type extends EventType>(type: Type, payload: EventPayloads[Type]): void {
    this.#driver.outbox.event(type, this.#driver.time, null, payload);
    if (this.#hooks && this.#primitives.isLive) this.#tell(type, payload, this.#driver.time, null);
  }

  /** Something that the stream learns in another way happens now, for the hooks. Inside a step, or live. */
  seen<Type extends EventType>(
    type: Type,
    payload: EventPayloads[Type],
    attempt: AttemptId | null = null,
  ): void {
    if (this.#hooks) this.#tell(type, payload, this.#primitives.now(), attempt);
  }

  /** The same, from code that is replayed. */
  seenOnce<Type extends EventType>(type: Type, payload: EventPayloads[Type]): void {
    if (this.#hooks && this.#primitives.isLive) this.seen(type, payload);
  }

  #tell<Type extends EventType>(
    type: Type,
    payload: EventPayloads[Type],
    at: number,
    attempt: AttemptId | null,
  ): void {
    const eventId = EventId.of(this.#source.runId, `${type}/${attempt ?? ++this.#count}`);
    const event = { ...payload, type, eventId, ...this.#source, at, attempt };
    void this.#hooks?.dispatch(Json.as<ReeveEvent>(Json.of(event)));
  }
}
