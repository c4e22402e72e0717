import type { Json, TopicId } from "#kernel";
import type { BacklogSize, UnreadItems } from "#tree";
import type { Waits } from "./driver/waits.ts";
import type { InboxReader } from "./messaging.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** The parts of a run that keep what its code has not read. */
interface UnreadDeps {
  readonly inbox: Pick<InboxReader, "unread" | "unreadCount">;
  readonly subscriptions: Pick<Subscriptions, "open" | "listUnread">;
  readonly waits: Waits;
}

/** The lengths of values that were measured before. */
const lengths = new WeakMap<object, number>();

function lengthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null).length;
  const known = lengths.get(value);
  if (known !== undefined) return known;
  const { length } = JSON.stringify(value);
  lengths.set(value, length);
  return length;
}

/** Undefined for one message or none: that is what a run works on, and not worth measuring. */
function measure(values: readonly unknown[]): BacklogSize | undefined {
  if (values.length <= 1) return undefined;
  return {
    messages: values.length,
    characters: values.reduce<number>((sum, each) => sum + lengthOf(each), 0),
  };
}

/** Returns what a run has taken and its code has not read. Undefined: hardly anything. */
export function countUnread({ inbox, subscriptions, waits }: UnreadDeps): UnreadItems | undefined {
  if (inbox.unreadCount <= 1 && waits.isEmpty) return undefined;
  const signals = waits.listKept("signal/").map(({ value }): Json => value);
  const sent = measure([
    ...inbox.unread.map((item) => ("envelope" in item ? item.envelope : item)),
    ...signals,
  ]);
  const topics: Record<TopicId, BacklogSize> = {};
  for (const { topic, subscription } of subscriptions.open) {
    const size = measure(subscriptions.listUnread(subscription));
    // A run may have several subscriptions to one topic: the slowest counts.
    if (size && size.messages > (topics[topic]?.messages ?? 0)) topics[topic] = size;
  }
  const hasTopics = Object.keys(topics).length > 0;
  return sent || hasTopics ? { ...(sent && { inbox: sent }), ...(hasTopics && { topics }) } : undefined;
}
