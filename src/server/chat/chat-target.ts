import { hash, randomUUID } from "node:crypto";

import {
  EntryId,
  Partition,
  type SessionId,
  TreeId,
  UserId,
  type Input,
  type SessionEntry,
  type Store,
} from "#kernel";
import { Session, type ConversationOwner } from "#runtime";

/** A chat message that needs an answer. */
export interface ChatMessageSent {
  readonly agent: string;
  readonly chat: SessionId;
  /** The id of the user's message, which the page chose, or which the history gave it. */
  readonly message: string;
  readonly input: Input;
  /**
   * `new`: the last message. `again`: sent before, possibly with other content. `regenerate`: requests another answer.
   */
  readonly kind: "new" | "again" | "regenerate";
}

/** The tree that answers a message. */
export type ChatTarget =
  | { readonly kind: "started"; readonly id: TreeId }
  | {
      readonly kind: "start";
      readonly id: TreeId;
      /** The entry that the turn follows; null: none. Absent: the newest one. */
      readonly after?: EntryId | null;
    };

/**
 * Finds the tree of a message, or the position for a new tree. A tree id is derived from the id and the content of its
 * message, so a message that is sent again does not start a second tree. A message with the same id and other content
 * replaces the earlier one. `answering`: the tree that has the turn.
 */
export async function findChatTarget(
  session: Session,
  answering: TreeId | null,
  sent: ChatMessageSent,
): Promise<ChatTarget> {
  const { message, kind } = sent;
  const prefix = `chat-${digest([sent.agent, session.key.userId, sent.chat, message], 32)}-`;
  const content = digest(sent.input, 16);
  const id = TreeId.of(`${prefix}${content}`);
  if (kind === "new") return { kind: "start", id };
  const isOf = (entry: EntryId): boolean =>
    entry === message || (entry.startsWith(prefix) && isFirstOfTree(entry));
  const isSame = (tree: TreeId): boolean => contentOf(tree) === content;
  if (kind === "again" && answering !== null && isOf(firstOf(answering)) && isSame(answering))
    return { kind: "started", id: answering };
  const found = await findOnPath(session, isOf);
  const tree = found && parseTree(found.id);
  if (kind === "again" && tree && isSame(tree)) return { kind: "started", id: tree };
  const entry = found ?? (await findBeside(session, [message, firstOf(id)]));
  const place = entry ? { after: entry.parentId } : {};
  if (kind === "regenerate") return { kind: "start", id: TreeId.of(`${id}-${randomUUID()}`), ...place };
  return { kind: "start", id: found ? TreeId.of(`${id}-${digest(found.id, 16)}`) : id, ...place };
}

/** The conversation of a chat in the store. */
export function sessionOf(store: Store, chat: SessionId, { tenant, user }: ConversationOwner): Session {
  const userId = user === undefined ? null : UserId.of(user);
  return new Session(store.sessions, Partition.of(tenant), { id: chat, userId });
}

/** The entry of the message that a tree was started with. */
export const firstOf = (tree: TreeId): EntryId => EntryId.of(`${tree}~0.1`);

/** The tree that an entry was written by; null: another program wrote it. */
export function parseTree(entry: EntryId): TreeId | null {
  const tree = /^([^~/]{1,128})~\d+\.\d+$/.exec(entry)?.[1];
  return tree === undefined ? null : TreeId.of(tree);
}

const isFirstOfTree = (entry: EntryId): boolean => entry.endsWith("~0.1");

const contentOf = (tree: TreeId): string | undefined => /^chat-[0-9a-f]{32}-([0-9a-f]{16})/.exec(tree)?.[1];

const digest = (value: unknown, length: number): string =>
  hash("sha256", JSON.stringify(value)).slice(0, length);

async function findOnPath(session: Session, isIt: (id: EntryId) => boolean): Promise<SessionEntry | null> {
  for await (const entry of session.path()) if (isIt(entry.id)) return entry;
  return null;
}

/** Finds an entry that is no longer on the main path, because another window has edited a message before it. */
async function findBeside(session: Session, ids: readonly string[]): Promise<SessionEntry | null> {
  for (const id of ids.filter((text) => EntryId.is(text))) {
    const [entry] = await session.store.path(session.partition, session.key, {
      from: EntryId.of(id),
      limit: 1,
    });
    if (entry?.branch === null) return entry;
  }
  return null;
}
