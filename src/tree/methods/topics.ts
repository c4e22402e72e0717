import { Json, type Envelope, type ObjectContext, type TopicId } from "#kernel";
import { book } from "../reports.ts";
import type { ArgumentOf } from "../protocol.ts";
import type { TopicRecord } from "../state/records.ts";
import { checkSize, maxEventBytes } from "../state/size.ts";
import type { TreeWork } from "../state/tree-work.ts";

/** Tells a topic: the tree's stream, and everybody who follows. */
export function emit(work: TreeWork, argument: ArgumentOf<"emit">): null {
  const { run, topic, data, messageId, labels } = argument;
  checkSize("the data of an event", data, maxEventBytes);
  book(work, argument);
  const { agentId } = work.live(run);
  work.emit(run, "progress.emitted", { topic, data }, { place: `progress/${messageId}` });
  const subscribers = subscribersOf(work.object, topic);
  work.load(subscribers.map((subscriber) => subscriber.run));
  const envelope: Envelope = {
    id: messageId,
    from: { kind: "run", runId: run, agentId },
    text: "",
    data,
    topic,
    labels,
    at: work.now,
  };
  for (const subscriber of subscribers) {
    work.push(subscriber.run, { kind: "topic", subscription: subscriber.subscription, envelope });
  }
  return null;
}

/** The key of the subscribers of a topic. */
const topicKey = (topic: TopicId): string => `topic/${topic}`;

function subscribersOf(object: ObjectContext, topic: TopicId): TopicRecord {
  return Json.as(object.get(topicKey(topic)) ?? []);
}

/** Begins or ends a subscription to a topic. */
export function follow(work: TreeWork, argument: ArgumentOf<"follow">): null {
  const { run, topic, subscription, on } = argument;
  const known = subscribersOf(work.object, topic);
  work.loadSlots(known.map((other) => other.run));
  const others = known.filter((other) => other.subscription !== subscription && work.slot(other.run));
  const subscribers = on ? [...others, { run, subscription }] : others;
  if (subscribers.length === 0) work.object.clear(topicKey(topic));
  else work.object.set(topicKey(topic), Json.of(subscribers));
  return null;
}
