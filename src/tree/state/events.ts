import { Json, type NumberedEvent, type ObjectContext } from "#kernel";
import type { ArgumentOf, ReplyOf } from "../protocol.ts";
import { readTree } from "./tree-record.ts";

/*
 * Each event has a key of its own. It is written once, by the call that numbers it, and no other call reads it: `seq` in
 * the tree's record is enough to number the next one. So the size of events does not tax the calls of a tree.
 */

/** Events that are loaded together. */
const eventsPerLoad = 64;

/** A reply ends after the event that makes it longer than this. Restate rejects messages over 32 MiB. */
const maxReplyCharacters = 4_000_000;

/** The key of an event. */
export const eventKey = (seq: number): string => `event/${seq}`;

/** The keys of the events from one number to another, both included. */
export const eventKeys = (first: number, last: number): readonly string[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => eventKey(first + index));

/** Returns the tree's events above `after`, in order: as many as were asked for and fit into a reply. */
export function events(object: ObjectContext, { after, limit }: ArgumentOf<"events">): ReplyOf<"events"> {
  const tree = readTree(object);
  if (tree === null) return { events: [], closed: false, more: false };
  const { seq: last, firstEvent, status } = tree;
  const found: NumberedEvent[] = [];
  let characters = 0;
  let seq = Math.max(after + 1, firstEvent);
  const end = Math.min(last, seq + limit - 1);
  for (; seq <= end && characters < maxReplyCharacters; seq++) {
    if (found.length % eventsPerLoad === 0)
      object.prefetch(eventKeys(seq, Math.min(end, seq + eventsPerLoad - 1)));
    const event = Json.as<NumberedEvent>(object.get(eventKey(seq)));
    characters += JSON.stringify(event).length;
    found.push(event);
  }
  const upTo = found.at(-1)?.seq ?? after;
  return { events: found, closed: upTo >= last && status === "closed", more: upTo < last };
}
