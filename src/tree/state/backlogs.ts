import { BacklogFullError, type TopicId } from "#kernel";

/*
 * Bounds of what waits to be read.
 *
 * 1. Messages, signals, steering and follow-ups that a run was sent and has not read count against its inbox, and messages of
 *    a topic against the topic. What the tree itself has to say, such as the end of a child or a cancel, is never refused.
 * 2. It waits in two places: in the tree, and in the process of the run, which takes it long before the code reads it. A run
 *    states with each call what it has taken and not read.
 * 3. A sender gets a BacklogFullError, and nothing is delivered. So nothing is lost in silence.
 * 4. The last items before a call of the run are not counted yet, so slightly more than a limit can wait.
 */

/** Limits of what waits to be read. A message that alone is longer than a limit is accepted if nothing else waits. */
export interface BacklogLimits {
  /** Messages and signals for one run. */
  readonly inboxMessages: number;
  /** Their length, as JSON. */
  readonly inboxCharacters: number;
  /** Messages of one topic that a subscriber has not read. */
  readonly topicMessages: number;
  readonly topicCharacters: number;
  /** Approvals and questions of one run that no one has decided. Further ones are denied at once. */
  readonly openApprovals: number;
}

export const defaultBacklogs: BacklogLimits = {
  inboxMessages: 1_000,
  inboxCharacters: 8_000_000,
  topicMessages: 1_000,
  topicCharacters: 16_000_000,
  openApprovals: 200,
};

/** A number of messages, and their length as JSON. */
export interface BacklogSize {
  readonly messages: number;
  readonly characters: number;
}

/** Items that a run has taken and its code has not read. */
export interface UnreadItems {
  /** Sent to the run itself. Absent: hardly anything. */
  readonly inbox?: BacklogSize | undefined;
  /** Messages of topics. Absent: hardly any. */
  readonly topics?: Readonly<Record<TopicId, BacklogSize>> | undefined;
}

const nothing: BacklogSize = { messages: 0, characters: 0 };

export const addSizes = (a: BacklogSize = nothing, b: BacklogSize = nothing): BacklogSize => ({
  messages: a.messages + b.messages,
  characters: a.characters + b.characters,
});

/** Returns what is left of `a`. The task of a run is taken like what was sent later, and not counted before. */
export const subtractSizes = (a: BacklogSize, b: BacklogSize = nothing): BacklogSize => ({
  messages: Math.max(0, a.messages - b.messages),
  characters: Math.max(0, a.characters - b.characters),
});

/** Kinds of items that a run or a person sends. */
const sentKinds: ReadonlySet<string> = new Set(["message", "signal", "steer", "followUp"]);

export const isSent = ({ kind }: { readonly kind: string }): boolean => sentKinds.has(kind);

/** Returns why one more message finds no room. Null: there is room. */
export function findFull(
  what: string,
  { messages, characters }: BacklogSize,
  { added, limit }: { readonly added: unknown; readonly limit: BacklogSize },
): BacklogFullError | null {
  if (messages >= limit.messages)
    return new BacklogFullError({ what, limit: limit.messages, unit: "messages" });
  if (messages === 0 || characters + JSON.stringify(added).length <= limit.characters) return null;
  return new BacklogFullError({ what, limit: limit.characters, unit: "characters" });
}
