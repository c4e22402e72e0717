import type { Envelope } from "#kernel";
import { book } from "../reports.ts";
import type { ArgumentOf } from "../protocol.ts";
import { checkSize, maxEventBytes } from "../state/size.ts";
import { prefetchTopic, Topic } from "../state/topics.ts";
import type { TreeWork } from "../state/tree-work.ts";

/** Publishes to a topic: to the tree's stream and every subscriber. */
export function emit(work: TreeWork, argument: ArgumentOf<"emit">): null {
  const { run, topic: id, data, messageId, labels } = argument;
  checkSize("the data of an event", data, maxEventBytes);
  book(work, argument);
  const { agentId } = work.live(run);
  work.emit(run, "progress.emitted", { topic: id, data }, { place: `progress/${messageId}` });
  const topic = new Topic(work.object, id);
  if (!topic.hasSubscriptions) {
    topic.write();
    return null;
  }
  // Other subscribers already have an item for the topic in their inbox. It covers this message, too.
  const idle = topic.listIdle(run);
  work.load(idle);
  for (const subscriber of idle) if (!work.run(subscriber)) topic.unsubscribeAll(subscriber);
  const from = { kind: "run", runId: run, agentId } as const;
  const envelope: Envelope = { id: messageId, from, text: "", data, topic: id, labels, at: work.now };
  topic.tell(envelope);
  topic.write();
  for (const subscriber of idle) work.push(subscriber, { kind: "unread", topic: id });
  return null;
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
