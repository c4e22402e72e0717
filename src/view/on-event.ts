import type { EventType, NumberedEvent, ReeveEvent } from "#kernel";

/** Declared as a method: then a handler of one type passes for a handler of any type, and {@link dispatch} sees to it. */
type Handler<State, Type extends EventType = EventType> = {
  handle(state: State, event: ReeveEvent<Type>): void;
}["handle"];

/** Handlers by type of event. Events without a handler are passed over. */
export type OnEvent<State> = {
  readonly [Type in EventType]?: Handler<State, Type>;
};

/** Passes an event to the handler of its type. */
export function dispatch<State>(on: OnEvent<State>, state: State, event: NumberedEvent): void {
  const handlers: Readonly<Record<string, Handler<State> | undefined>> = on;
  handlers[event.type]?.(state, event);
}
