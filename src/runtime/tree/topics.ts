import { Json, type Envelope, type ObjectContext } from "#kernel";
import { book } from "./reports.ts";
import type { ArgumentOf } from "./protocol.ts";
import type { TopicsRecord } from "./records.ts";
import type { TreeWork } from "./tree-work.ts";

/** Tells a topic: the tree's stream, and everybody who follows. */
export function emit(work: TreeWork, argument: ArgumentOf<"emit">): null {
  const { run, topic, data, messageId, labels } = argument;
  book(work, argument);
  const { agentId } = work.live(run);
  work.emit(run, "progress.emitted", { topic, data }, { place: `progress/${messageId}` });
  const followers = topicsOf(work.object)[topic] ?? [];
  const envelope: Envelope = {
    id: messageId,
    from: { kind: "run", runId: run, agentId },
    text: "",
    data,
    topic,
    labels,
    at: work.now,
  };
  for (const follower of followers) {
    work.push(follower.run, { kind: "topic", subscription: follower.subscription, envelope });
  }
  return null;
}

function topicsOf(object: ObjectContext): TopicsRecord {
  return Json.as(object.get("topics") ?? {});
}

/** Begins or ends following a topic. */
export function follow(work: TreeWork, argument: ArgumentOf<"follow">): null {
  const { run, topic, subscription, on } = argument;
  const topics = topicsOf(work.object);
  const others = (topics[topic] ?? []).filter(
    (follower) => follower.subscription !== subscription && work.slot(follower.run),
  );
  const followers = on ? [...others, { run, subscription }] : others;
  work.object.set("topics", Json.of({ ...topics, [topic]: followers }));
  return null;
}
