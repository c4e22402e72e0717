import type { EventType, NumberedEvent, ReeveEvent } from "#kernel";

/** Declared as a method: then one for a certain type passes for one of any type, and {@link dispatch} sees to it. */
type Handler<Type extends EventType = EventType> = { handle(event: ReeveEvent<Type>): void }["handle"];

/** What is done about some types of events; the others are passed over. */
export type OnEvent = {
  readonly [Type in EventType]?: Handler<Type>;
};

/** Hands an event to the one that is for its type. */
export function dispatch(on: OnEvent, event: NumberedEvent): void {
  const handlers: Readonly<Record<string, Handler | undefined>> = on;
  handlers[event.type]?.(event);
}
