import type { EventType, ReeveEvent } from "#kernel";
import type { NumberedEvent } from "reeve";

/** The events of one type. */
export function eventsOf<Type extends EventType>(
  events: readonly NumberedEvent[],
  type: Type,
): readonly ReeveEvent<Type>[] {
  return events.filter((event): event is NumberedEvent & ReeveEvent<Type> => event.type === type);
}
