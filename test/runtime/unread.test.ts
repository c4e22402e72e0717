import { MessageId, TopicId, TreeId, type Envelope } from "#kernel";
import { expect, test } from "vitest";
import { Waits } from "../../src/run/driver/waits.ts";
import { countUnread } from "../../src/run/unread.ts";

const topic = TopicId.of("news", TreeId.of("t"));

const envelopeOf = (name: string): Envelope => ({
  id: MessageId.of(name),
  from: { kind: "outside", name: "user" },
  text: name,
  at: 1,
});

const messages = (count: number): readonly Envelope[] =>
  Array.from({ length: count }, (_, number) => envelopeOf(`m${number}`));

test("of two subscriptions to one topic, the one that is further behind counts", () => {
  const unread = new Map([
    ["slow", messages(5)],
    ["quick", messages(2)],
  ]);
  const waits = new Waits();
  waits.arrive("topic/slow", null);
  const subscriptions = {
    open: [...unread.keys()].map((subscription) => ({ topic, subscription })),
    listUnread: (subscription: string) => unread.get(subscription) ?? [],
  };
  const counted = countUnread({ inbox: { unread: [], unreadCount: 0 }, subscriptions, waits });
  expect(counted).toEqual({ topics: { [topic]: { messages: 5, characters: expect.any(Number) } } });
});
