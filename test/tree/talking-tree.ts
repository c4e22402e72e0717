import { Json, MessageId, TopicId, TreeId, type NumberedEvent } from "#kernel";
import type { ReplyOf, RunReply } from "../../src/tree/protocol.ts";
import { LazyTree, policyOfTrees } from "./lazy-tree.ts";

const topic = TopicId.of("progress", TreeId.of("t"));

/** A tree whose first child reports much, and whose projector stores it. */
export class TalkingTree extends LazyTree {
  /** Numbers of the events that the projector was given. */
  readonly stored: number[] = [];

  constructor({ hasHooks = false } = {}) {
    super({ maxAgents: 2, deps: { policyOf: () => ({ ...policyOfTrees, hasHooks }) } });
    this.spawn(1);
  }

  talk(count: number): void {
    for (let number = 0; number < count; number++) {
      const message = { topic, data: number, messageId: MessageId.of(this.id()) };
      this.call("emit", { ...this.from(this.child(1)), ...message });
    }
  }

  /** The projector asks for all that the store lacks, and stores it. */
  store(): void {
    for (let isMore = true; isMore;) {
      const reply = Json.as<ReplyOf<"drain">>(this.call("drain", { after: 0, limit: 256, at: 9 }).result);
      this.stored.push(...reply.events.map(({ seq }) => seq));
      isMore = reply.more;
    }
  }

  /** The root calls. Returns the events that its hooks get. */
  callFromRoot(): readonly NumberedEvent[] {
    const { result } = this.call("take", this.from(this.root));
    return Json.as<RunReply<ReplyOf<"take">>>(result).events ?? [];
  }

  /** Number of values with events. */
  get held(): number {
    return this.object.keys("event/").length;
  }
}
