import { type Envelope, RunId, type TopicId } from "#kernel";
import { book } from "../reports.ts";
import type { ArgumentOf, ReplyOf } from "../protocol.ts";
import { checkSize, maxEventBytes } from "../state/size.ts";
import { prefetchTopic, type TakenSizes, Topic } from "../state/topics.ts";
import type { TreeWork } from "../state/tree-work.ts";

/** Publishes to a topic: to the tree's stream and every subscriber. Refused if a subscriber is too far behind. */
export function emit(work: TreeWork, argument: ArgumentOf<"emit">): ReplyOf<"emit"> {
  const { run, topic: id, data, messageId, labels } = argument;
  checkSize("the data of an event", data, maxEventBytes);
  book(work, argument);
  const { agentId } = work.live(run);
  const from = { kind: "run", runId: run, agentId } as const;
  const envelope: Envelope = { id: messageId, from, text: "", data, topic: id, labels, at: work.now };
  const topic = new Topic(work.object, id);
  const publish = (): void =>
    work.emit(run, "progress.emitted", { topic: id, data }, { place: `progress/${messageId}` });
  if (!topic.hasSubscriptions) {
    publish();
    topic.write();
    return null;
  }
  // Other subscribers already have an item for the topic in their inbox. It covers this message, too.
  const idle = topic.listIdle(run);
  work.load(idle);
  for (const subscriber of idle) if (!work.run(subscriber)) topic.unsubscribeAll(subscriber);
  const taken = takenBy(work, idle, id);
  const full = topic.findFull(envelope, { taken, limits: work.host.backlogs });
  if (full) {
    topic.write();
    return { error: full.toJSON() };
  }
  publish();
  topic.tell(envelope, taken);
  topic.write();
  for (const subscriber of idle) work.push(subscriber, { kind: "unread", topic: id });
  return null;
}

/** Returns what subscribers have taken of a topic and not read. */
function takenBy(work: TreeWork, subscribers: readonly RunId[], topic: TopicId): TakenSizes {
  return new Map(
    subscribers.flatMap((subscriber) => {
      const size = work.run(subscriber)?.backlog?.topics?.[topic];
      return size ? [[RunId.number(subscriber), size]] : [];
    }),
  );
}

/** Begins or ends a subscription to a topic. */
export function subscribeToTopic(work: TreeWork, argument: ArgumentOf<"subscribe">): null {
  const { run, topic: id, subscription, on } = argument;
  prefetchTopic(work.object, run, id);
  const topic = new Topic(work.object, id);
  const others = topic.neighbours(run);
  work.loadSlots(others);
  for (const other of others) if (!work.slot(other)) topic.unsubscribeAll(other);
  if (on) topic.subscribe({ run, subscription });
  else topic.unsubscribe({ run, subscription });
  topic.write();
  return null;
}
