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
import { reportPlace } from "../tree/records.ts";

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

  constructor(primitives: Primitives, driver: Driver, source: EventSource, hooks: Hooks | undefined) {
    this.#primitives = primitives;
    this.#driver = driver;
    this.#source = source;
    this.#hooks = hooks;
  }

  /** Agent code says something: it goes with the next call to the tree. */
  note<Type extends EventType>(type: Type, payload: EventPayloads[Type]): void {
    const { outbox, time } = this.#driver;
    const number = outbox.event(type, time, null, payload);
    const { launch, isLive } = this.#primitives;
    if (this.#hooks && isLive)
      this.#tell(type, payload, reportPlace(type, launch.continuation, number), time);
  }

  /** Something that the stream learns in another way happens now, for the hooks. Inside a step, or live. */
  seen<Type extends EventType>(
    type: Type,
    payload: EventPayloads[Type],
    attempt: AttemptId | null = null,
  ): void {
    const place = attempt === null ? type : `${type}/${attempt}`;
    if (this.#hooks) this.#tell(type, payload, place, this.#primitives.now(), attempt);
  }

  /** The same, from code that is replayed. `place` tells it from others of its type in the run. */
  seenLive<Type extends EventType>(type: Type, payload: EventPayloads[Type], place: string = type): void {
    if (this.#hooks && this.#primitives.isLive) this.#tell(type, payload, place, this.#primitives.now());
  }

  #tell<Type extends EventType>(
    type: Type,
    payload: EventPayloads[Type],
    place: string,
    at: number,
    attempt: AttemptId | null = null,
  ): void {
    const eventId = EventId.of(this.#source.runId, place);
    const event = { ...payload, type, eventId, ...this.#source, at, attempt };
    void this.#hooks?.dispatch(Json.as<ReeveEvent>(Json.of(event)));
  }
}
