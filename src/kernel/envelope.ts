import type { AgentId, MessageId, RunId, TopicId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { FileBlock } from "./message.ts";

/** Who sent a message: a run of the tree, or somebody outside it. */
export type Sender =
  | { readonly kind: "run"; readonly runId: RunId; readonly agentId: AgentId }
  | { readonly kind: "outside"; readonly name: string };

/** One message on its way into a run's inbox. */
export interface Envelope {
  /** Two envelopes with one id are delivered once. */
  readonly id: MessageId;
  readonly from: Sender;
  readonly text: string;
  /** Structured data. */
  readonly data?: Json | undefined;
  /** Images, documents and other files. Large ones name their bytes in the content port. */
  readonly files?: readonly FileBlock[] | undefined;
  /** Set on a question and on a task: the run that a reply goes to. */
  readonly askedBy?: RunId | undefined;
  /** Set where the message came over a topic. */
  readonly topic?: TopicId | undefined;
  /** What the sender had seen when it wrote it. Absent: nothing of note. */
  readonly labels?: Labels | undefined;
  /** When it was accepted. */
  readonly at: number;
}

/**
 * The messages of one run: in order per sender, no sender starving another. Iteration ends when none is left;
 * a message that comes later wakes a new run of the same agent.
 */
export interface Inbox extends AsyncIterable<Envelope> {
  /** The next message, or null if there is none after `waitS` seconds (default 0). */
  next(options?: { readonly waitS?: number }): Promise<Envelope | null>;
  /** Takes what has arrived to steer the work in hand; never waits. */
  steering(): readonly Envelope[];
  /** Takes what has arrived to be done next, oldest first: at most `max`, by default all. Never waits. */
  followUps(options?: { readonly max?: number }): readonly Envelope[];
}
