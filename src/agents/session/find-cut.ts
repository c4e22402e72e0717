import type { ChatMessage, EntryId } from "#kernel";

/** A message that may be summarized. */
export interface CutItem {
  readonly message: ChatMessage;
  readonly tokens: number;
  /** The entry that holds it. Null: it is in no conversation. */
  readonly id: EntryId | null;
  /**
   * Whether the conversation may be cut before it. A note about the end of a turn belongs to the messages before it.
   */
  readonly mayLead: boolean;
}

/** Options of a cut. */
export interface CutOptions {
  /** Tokens of the newest messages that stay unchanged. */
  readonly keepRecent: number;
  /**
   * `turns`: cut before a message of the user; inside a turn only if the newest one alone is longer than `keepRecent`;
   * no cut if everything is shorter. `asked`: also if everything is shorter. `cycles`: also before any call of the
   * model, and at most half stays.
   */
  readonly between: "turns" | "asked" | "cycles";
  /** The number of first messages that must not stay. Default: 0. */
  readonly from?: number | undefined;
}

/** The parts of a conversation after a cut. */
export interface Cut {
  /** The number of messages before the first one that stays. */
  readonly at: number;
  /** Messages of whole turns, oldest first. */
  readonly turns: readonly ChatMessage[];
  /** The first part of a turn that was cut in two. Empty if none was. */
  readonly part: readonly ChatMessage[];
}

/** Finds the position of the cut. Null: there is nothing to summarize. A call is never separated from its result. */
export function findCut(items: readonly CutItem[], options: CutOptions): Cut | null {
  const place = findPlace(items, options);
  const { from = 0 } = options;
  const at = Math.max(place ?? 0, from);
  return at === 0 ? null : cutAt(items, at);
}

function findPlace(items: readonly CutItem[], { keepRecent, between }: CutOptions): number | null {
  const total = items.reduce((sum, { tokens }) => sum + tokens, 0);
  if (between === "turns" && total <= keepRecent) return null;
  const room = between === "turns" ? keepRecent : Math.min(keepRecent, Math.floor(total / 2));
  if (between === "cycles") return oldestWithin(items, room, beginsCycle) ?? findNewestCut(items);
  const turn = oldestWithin(items, room, beginsTurn);
  if (turn !== null) return turn;
  const isLong =
    items.slice(findNewestCut(items, beginsTurn) ?? 0).reduce((sum, { tokens }) => sum + tokens, 0) >
    keepRecent;
  if (!isLong) return findNewestCut(items, beginsTurn);
  return oldestWithin(items, keepRecent, beginsCycle) ?? findNewestCut(items);
}

const beginsTurn = ({ message, mayLead }: CutItem): boolean => mayLead && message.role === "user";
const beginsCycle = (item: CutItem): boolean => beginsTurn(item) || item.message.role === "assistant";

/**
 * Returns the oldest position after which everything fits. Null: none. The position before the first message does not
 * count.
 */
function oldestWithin(
  items: readonly CutItem[],
  room: number,
  isPlace: (item: CutItem) => boolean,
): number | null {
  let found: number | null = null;
  let kept = 0;
  for (let index = items.length - 1; index > 0; index--) {
    const item = items[index];
    if (!item) break;
    kept += item.tokens;
    if (kept > room) break;
    if (isPlace(item)) found = index;
  }
  return found;
}

/** Returns the newest position. Null: none. */
function findNewestCut(items: readonly CutItem[], isPlace = beginsCycle): number | null {
  const index = items.findLastIndex(isPlace);
  return index > 0 ? index : null;
}

function cutAt(items: readonly CutItem[], at: number): Cut {
  const messages = items.map(({ message }) => message);
  const first = items[at];
  const start =
    !first || beginsTurn(first) ? at : items.findLastIndex((item, index) => index < at && beginsTurn(item));
  const whole = start === -1 ? at : start;
  return { at, turns: messages.slice(0, whole), part: messages.slice(whole, at) };
}
