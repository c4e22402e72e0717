import type { AgentId, MessageId, RunId, TopicId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { FileBlock } from "./message.ts";

/** The sender of a message: a run of the tree, or a caller outside it. */
export type Sender =
  | { readonly kind: "run"; readonly runId: RunId; readonly agentId: AgentId }
  | { readonly kind: "outside"; readonly name: string };

/** One message on its way into a run's inbox. */
export interface Envelope {
  /** Deduplication key: a second envelope with the same id is dropped. */
  readonly id: MessageId;
  readonly from: Sender;
  readonly text: string;
  /** Structured data. */
  readonly data?: Json | undefined;
  /** Images, documents and other files. Large ones name their bytes in the content port. */
  readonly files?: readonly FileBlock[] | undefined;
  /** Set on a question and on a task: the run that a reply goes to. */
  readonly askedBy?: RunId | undefined;
  /** Set if the message came over a topic. */
  readonly topic?: TopicId | undefined;
  /** Labels of the sender when it wrote the message. Absent: none. */
  readonly labels?: Labels | undefined;
  /** Acceptance time. */
  readonly at: number;
}

/**
 * The messages of one run: in order per sender, and fair between senders. Iteration ends when no message is left. A
 * later message starts a new run of the same agent.
 */
export interface Inbox extends AsyncIterable<Envelope> {
  /** Returns the next message. Null if none arrives within `waitS` seconds (default 0). */
  next(options?: { readonly waitS?: number }): Promise<Envelope | null>;
  /** Takes the messages that steer the current work. Never waits. */
  takeSteering(): readonly Envelope[];
  /** Takes the follow-up messages, oldest first: at most `max`, by default all. Never waits. */
  takeFollowUps(options?: { readonly max?: number }): readonly Envelope[];
}
