import { Json, type NumberedEvent, type ObjectContext } from "#kernel";
import type { ArgumentOf, ReplyOf } from "../protocol.ts";
import { readTree } from "./tree-record.ts";

/*
 * The stored events of a tree. The events of one call are one value, under the number of its first event. It is written
 * once, and no other call reads it: `seq` in the tree's record is enough to number the next event. So events do not
 * slow down the calls of a tree. A call that appends many events writes several values.
 */

/** Maximum number of events of one value. */
const eventsPerValue = 32;

/** Number of event numbers whose values are loaded together. */
const eventsPerLoad = 64;

/** A reply ends after the value that makes it longer than this. Restate rejects messages over 32 MiB. */
const maxReplyCharacters = 4_000_000;

export const eventKey = (first: number): string => `event/${first}`;

/** Returns the keys of values whose first event has a number in a range, both ends included. */
export const eventKeys = (first: number, last: number): readonly string[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => eventKey(first + index));

/** Writes the events that a call has appended. */
export function writeEvents(object: ObjectContext, appended: readonly NumberedEvent[]): void {
  for (let from = 0; from < appended.length; from += eventsPerValue) {
    const value = appended.slice(from, from + eventsPerValue);
    const [first] = value;
    if (first) object.set(eventKey(first.seq), Json.of(value));
  }
}

/**
 * Returns the number of the first event in the value that will hold an event. `firstSeq`: number of the call's first
 * event.
 */
export const valueOf = (seq: number, firstSeq: number): number => seq - ((seq - firstSeq) % eventsPerValue);

/** Returns the events of the values with these numbers. */
export function eventsIn(object: ObjectContext, firsts: readonly number[]): readonly NumberedEvent[] {
  if (firsts.length > 0) object.prefetch(firsts.map(eventKey));
  return firsts.flatMap((first) => readValue(object, first));
}

/** Returns the events of a value. Empty: no value begins with that number. */
const readValue = (object: ObjectContext, first: number): readonly NumberedEvent[] =>
  Json.as(object.get(eventKey(first)) ?? []);

/** Returns the tree's events above `after`, in order: about `limit` of them, and as many as fit into a reply. */
export function events(object: ObjectContext, { after, limit }: ArgumentOf<"events">): ReplyOf<"events"> {
  const tree = readTree(object);
  if (tree === null) return { events: [], closed: false, more: false };
  const { seq: last, firstEvent, status } = tree;
  const found: NumberedEvent[] = [];
  let characters = 0;
  let loaded = 0;
  let seq = firstOf(object, Math.max(after + 1, firstEvent), last);
  while (seq <= last && found.length < limit && characters < maxReplyCharacters) {
    if (seq > loaded) {
      loaded = Math.min(last, seq + eventsPerLoad - 1);
      if (!object.keepsReferences) object.prefetch(eventKeys(seq, loaded));
    }
    const value = readValue(object, seq);
    // Readers usually continue where a value begins.
    const wanted = seq > after ? value : value.filter((event) => event.seq > after);
    if (!object.keepsReferences) characters += JSON.stringify(wanted).length;
    found.push(...wanted);
    seq += Math.max(1, value.length);
  }
  const upTo = found.at(-1)?.seq ?? after;
  return { events: found, closed: upTo >= last && status === "closed", more: upTo < last };
}

/** Returns the number of the value that holds an event. Readers usually continue where a value begins. */
function firstOf(object: ObjectContext, seq: number, last: number): number {
  if (seq > last || seq <= 1 || readValue(object, seq).length > 0) return seq;
  const before = Array.from({ length: Math.min(eventsPerValue, seq) - 1 }, (_, index) => seq - 1 - index);
  object.prefetch(before.map(eventKey));
  return before.find((first) => first + readValue(object, first).length > seq) ?? seq;
}
