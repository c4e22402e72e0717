import { type BacklogFullError, Json, RunId, type Envelope, type ObjectContext, type TopicId } from "#kernel";
import { addSizes, type BacklogLimits, type BacklogSize, findFull, type UnreadItems } from "./backlogs.ts";
import type { InboxItem, StoredItem, TopicMessage, TopicRecord } from "./records.ts";

/*
 * The topics of a tree: subscriptions, and messages that are not taken. The inbox (inbox.ts) has an item for unread
 * messages. The take of a run (launch.ts) reads them. Its end (run-lifecycle.ts) removes its subscriptions.
 *
 * 1. A message is stored once, under its number, for any number of subscribers.
 * 2. A run with unread messages of a topic has one item for the topic in its inbox, for any number of messages.
 * 3. A subscription is stored with the number of its first unread message. The topic counts subscriptions by that
 *    number, so a message is removed when the last of them has taken it, or has ended.
 * 4. A message has the length of all before it. So the length of the stored messages is known without reading them.
 * 5. Subscriptions are stored in pages by the number of their run, so a take changes one page.
 * 6. A subscription with more to take is stored with what its run had not read at its last take. So a message counts it
 *    without loading the run.
 */

/** Runs whose numbers differ by less than this may be on one page. */
const numbersPerPage = 16;

/** Maximum number of topic messages per take. */
const messagesPerTake = 32;

/** Approximate maximum characters of topic messages per take. */
const charactersPerTake = 32_768;

/** Maximum number of messages that one call removes. Later calls of the topic remove the rest. */
const removedPerCall = 1_000;

const topicKey = (topic: TopicId): string => `topic/${topic}`;
const subscriptionPageKey = (page: number, topic: TopicId): string => `subscriptions/${page}/${topic}`;
const messageKey = (number: number, topic: TopicId): string => `told/${number}/${topic}`;

const getSubscriptionPage = (run: RunId): number => Math.floor(RunId.number(run) / numbersPerPage);

/**
 * A subscription: the number of its run, its name, and its first message that is not taken. Null: none. If there is one, also
 * what its run had taken before and not read. Absent: hardly anything.
 */
type Entry = readonly [run: number, subscription: string, unread: number | null, taken?: BacklogSize];

/** The sizes of what runs, by number, have taken of a topic and not read. Absent: hardly anything. */
export type TakenSizes = ReadonlyMap<number, BacklogSize>;

/** A subscription, and the run that it belongs to. A run may have several to one topic. */
interface Subscription {
  readonly run: RunId;
  readonly subscription: string;
}

/** The older stored form of a topic, without messages: the list of its subscriptions. */
type SubscriptionList = readonly Subscription[];

const noCharacters = { next: 0, first: 0 } as const;

const noTopic: TopicRecord = { next: 0, first: 0, unread: {}, pages: [] };

/**
 * The topic of a tree: its subscriptions, and the messages that some of them have not taken. Changes take effect with
 * `write`.
 */
export class Topic {
  readonly #object: ObjectContext;
  readonly #id: TopicId;
  readonly #pages = new Map<number, readonly Entry[]>();
  readonly #changed = new Set<number>();
  #record: TopicRecord = noTopic;
  #stored: TopicRecord | null = null;

  constructor(object: ObjectContext, id: TopicId) {
    this.#object = object;
    this.#id = id;
    const stored = Json.as<TopicRecord | SubscriptionList | null>(object.get(topicKey(id)));
    if (isSubscriptionList(stored)) this.#upgrade(stored);
    else if (stored) this.#record = this.#stored = stored;
  }

  get hasSubscriptions(): boolean {
    return this.#record.pages.length > 0;
  }

  /** Begins a subscription to messages from now on. */
  subscribe({ run, subscription }: Subscription): void {
    const page = getSubscriptionPage(run);
    const entries = this.#page(page);
    if (entries.some(([, name]) => name === subscription)) return;
    this.#setPage(page, [...entries, [RunId.number(run), subscription, null]]);
  }

  /** Ends a subscription. Messages that only this one has not taken are removed. */
  unsubscribe({ run, subscription }: Subscription): void {
    const page = getSubscriptionPage(run);
    const entries = this.#page(page);
    const entry = entries.find(([, name]) => name === subscription);
    if (entry) this.#remove(page, [entry]);
  }

  /** Ends all subscriptions of a run. */
  unsubscribeAll(run: RunId): void {
    const entries = this.#entriesOf(run);
    if (entries.length > 0) this.#remove(getSubscriptionPage(run), entries);
  }

  /** Returns the runs that have subscriptions on the page of this one, without this one. */
  neighbours(run: RunId): readonly RunId[] {
    const numbers = new Set(this.#page(getSubscriptionPage(run)).map(([number]) => number));
    numbers.delete(RunId.number(run));
    return [...numbers].map((number) => RunId.of(RunId.tree(run), number));
  }

  /**
   * Returns the subscribers without unread messages, which have no item for the topic in their inbox. `member` is any
   * run of the tree.
   */
  listIdle(member: RunId): readonly RunId[] {
    const { pages } = this.#record;
    this.#object.prefetch(
      pages.filter((page) => !this.#pages.has(page)).map((page) => subscriptionPageKey(page, this.#id)),
    );
    const entries = pages.flatMap((page) => this.#page(page));
    const behind = new Set(entries.flatMap(([number, , unread]) => (unread === null ? [] : [number])));
    const numbers = new Set(entries.flatMap(([number]) => (behind.has(number) ? [] : [number])));
    return [...numbers].map((number) => RunId.of(RunId.tree(member), number));
  }

  /**
   * Returns why a message finds no room: a subscription does not read. `taken`: of the subscribers that `listIdle`
   * returns. Null: there is room.
   */
  findFull(
    envelope: Envelope,
    { taken, limits }: { readonly taken: TakenSizes; readonly limits: BacklogLimits },
  ): BacklogFullError | null {
    const { first, next, characters = noCharacters } = this.#record;
    const stored = { messages: next - first, characters: characters.next - characters.first };
    const limit = { messages: limits.topicMessages, characters: limits.topicCharacters };
    const size = addSizes(stored, this.#mostTaken(taken));
    return findFull(`topic ${this.#id}`, size, { added: envelope, limit });
  }

  /** Returns the most that a subscriber has taken and not read. */
  #mostTaken(taken: TakenSizes): BacklogSize | undefined {
    let most: BacklogSize | undefined;
    for (const page of this.#record.pages)
      for (const [number, , unread, before] of this.#page(page)) {
        const size = unread === null ? taken.get(number) : before;
        if (size && size.messages > (most?.messages ?? 0)) most = size;
      }
    return most;
  }

  /**
   * Stores a message for every subscription. It becomes the first unread message of those that had none. `taken`: as in
   * `findFull`.
   */
  tell(envelope: Envelope, taken: TakenSizes): void {
    if (!this.hasSubscriptions) return;
    const { next, pages, characters = noCharacters } = this.#record;
    let idle = 0;
    for (const page of pages) {
      const entries = this.#page(page);
      const readers = entries.filter(([, , unread]) => unread === null).length;
      if (readers === 0) continue;
      idle += readers;
      this.#setPage(
        page,
        entries.map((entry): Entry => {
          const [run, name, unread] = entry;
          return unread === null ? toEntry([run, name, next], taken.get(run)) : entry;
        }),
      );
    }
    // The key contains the topic.
    const { topic: _, ...rest } = envelope;
    const message: TopicMessage = { ...rest, charactersBefore: characters.next };
    this.#object.set(messageKey(next, this.#id), Json.of(message));
    const { unread } = this.#record;
    this.#record = {
      ...this.#record,
      next: next + 1,
      characters: { ...characters, next: characters.next + JSON.stringify(envelope).length },
      unread: idle > 0 ? { ...unread, [next]: idle } : unread,
    };
  }

  /**
   * Takes unread messages of a run, as many as there is room for and at least one. `taken`: what the run has taken before and
   * not read.
   */
  take(
    run: RunId,
    { room, taken }: { readonly room: Room; readonly taken: BacklogSize | undefined },
  ): { readonly items: readonly InboxItem[]; readonly hasMore: boolean } {
    const items: InboxItem[] = [];
    const page = getSubscriptionPage(run);
    for (const entry of this.#entriesOf(run)) {
      const [number, subscription, first] = entry;
      if (first === null) continue;
      if (items.length > 0 && !hasRoom(room)) return { items, hasMore: true };
      const envelopes = this.#read(first, room);
      for (const envelope of envelopes) items.push({ kind: "topic", subscription, envelope });
      const after = first + envelopes.length;
      const unread = after < this.#record.next ? after : null;
      this.#setPage(
        page,
        this.#page(page).map((other) =>
          other === entry ? toEntry([number, subscription, unread], taken) : other,
        ),
      );
      this.#count(first, unread);
      if (unread !== null) return { items, hasMore: true };
    }
    return { items, hasMore: false };
  }

  /** Writes the changes. */
  write(): void {
    for (const page of this.#changed) {
      const entries = this.#page(page);
      if (entries.length > 0) this.#object.set(subscriptionPageKey(page, this.#id), Json.of(entries));
      else this.#object.clear(subscriptionPageKey(page, this.#id));
    }
    this.#changed.clear();
    this.#removeTaken();
    if (this.#record === this.#stored) return;
    const { first, next } = this.#record;
    if (this.hasSubscriptions || first < next) this.#object.set(topicKey(this.#id), Json.of(this.#record));
    else this.#object.clear(topicKey(this.#id));
    this.#stored = this.#record;
  }

  #upgrade(list: SubscriptionList): void {
    this.#object.prefetch([
      ...new Set(list.map(({ run }) => subscriptionPageKey(getSubscriptionPage(run), this.#id))),
    ]);
    for (const subscription of list) this.subscribe(subscription);
  }

  #read(first: number, room: Room): readonly Envelope[] {
    const end = Math.min(this.#record.next, first + Math.max(1, room.messages));
    const keys = Array.from({ length: end - first }, (_, index) => messageKey(first + index, this.#id));
    this.#object.prefetch(keys);
    const envelopes: Envelope[] = [];
    for (const key of keys) {
      if (envelopes.length > 0 && room.characters <= 0) break;
      const { charactersBefore: _, ...message } = Json.as<TopicMessage>(this.#object.get(key));
      const envelope = { ...message, topic: this.#id };
      envelopes.push(envelope);
      room.messages -= 1;
      room.characters -= JSON.stringify(envelope).length;
    }
    return envelopes;
  }

  /** Updates the counts when a subscription's first unread message changes. Null: none unread. */
  #count(before: number | null, after: number | null): void {
    if (before === after) return;
    const unread = { ...this.#record.unread };
    if (before !== null) {
      const left = (unread[before] ?? 0) - 1;
      if (left > 0) unread[before] = left;
      else delete unread[before];
    }
    if (after !== null) unread[after] = (unread[after] ?? 0) + 1;
    this.#record = { ...this.#record, unread };
  }

  /** Removes subscriptions from a page. */
  #remove(page: number, removed: readonly Entry[]): void {
    this.#setPage(
      page,
      this.#page(page).filter((entry) => !removed.includes(entry)),
    );
    for (const [, , unread] of removed) this.#count(unread, null);
  }

  /** Removes the messages that every subscription has taken. */
  #removeTaken(): void {
    const { first, next, unread } = this.#record;
    const needed = Object.keys(unread).reduce((least, number) => Math.min(least, Number(number)), next);
    const end = Math.min(needed, first + removedPerCall);
    if (end <= first) return;
    for (let number = first; number < end; number++) this.#object.clear(messageKey(number, this.#id));
    this.#record = { ...this.#record, first: end, characters: this.#charactersFrom(end) };
  }

  /** Returns the lengths once `first` is the oldest stored message. */
  #charactersFrom(first: number): TopicRecord["characters"] {
    const { next, characters = noCharacters } = this.#record;
    if (first === next) return { ...characters, first: characters.next };
    const { charactersBefore = characters.first } = Json.as<TopicMessage>(
      this.#object.get(messageKey(first, this.#id)),
    );
    return { ...characters, first: charactersBefore };
  }

  #entriesOf(run: RunId): readonly Entry[] {
    return this.#page(getSubscriptionPage(run)).filter(([number]) => number === RunId.number(run));
  }

  #page(page: number): readonly Entry[] {
    const known = this.#pages.get(page);
    if (known) return known;
    const entries = Json.as<readonly Entry[]>(this.#object.get(subscriptionPageKey(page, this.#id)) ?? []);
    this.#pages.set(page, entries);
    return entries;
  }

  #setPage(page: number, entries: readonly Entry[]): void {
    this.#pages.set(page, entries);
    this.#changed.add(page);
    const { pages } = this.#record;
    if (pages.includes(page) === entries.length > 0) return;
    const others = pages.filter((other) => other !== page);
    this.#record = { ...this.#record, pages: entries.length > 0 ? [...others, page] : others };
  }
}

const toEntry = (
  [run, subscription, unread]: readonly [number, string, number | null],
  taken: BacklogSize | undefined,
): Entry =>
  taken === undefined || unread === null ? [run, subscription, unread] : [run, subscription, unread, taken];

const isSubscriptionList = (stored: TopicRecord | SubscriptionList | null): stored is SubscriptionList =>
  Array.isArray(stored);

/** The room that is left in the reply to a run. */
interface Room {
  messages: number;
  characters: number;
}

const hasRoom = ({ messages, characters }: Room): boolean => messages > 0 && characters > 0;

/**
 * Reads the messages behind the topic items of an inbox. Returns those that fit into one reply, in order, and the items
 * that stay in the inbox.
 */
export function readTopics(
  object: ObjectContext,
  { run, taken }: { readonly run: RunId; readonly taken: UnreadItems["topics"] },
  stored: readonly StoredItem[],
): { readonly items: readonly InboxItem[]; readonly left: readonly StoredItem[] } {
  prefetchTopics(object, run, stored);
  const items: InboxItem[] = [];
  const room: Room = { messages: messagesPerTake, characters: charactersPerTake };
  for (const [index, item] of stored.entries()) {
    if (item.kind !== "unread") {
      items.push(item);
      continue;
    }
    if (!hasRoom(room)) return { items, left: stored.slice(index) };
    const topic = new Topic(object, item.topic);
    const { items: messages, hasMore } = topic.take(run, { room, taken: taken?.[item.topic] });
    topic.write();
    items.push(...messages);
    // The run was woken for a subscription that it has ended since. It counts its wake-ups by the items that it gets,
    // so it must get one.
    if (messages.length === 0) items.push({ kind: "resume" });
    if (hasMore) return { items, left: stored.slice(index) };
  }
  return { items, left: [] };
}

/**
 * Ends the subscriptions of an ended run with unread messages. Its other subscriptions are removed with the topic's
 * next message.
 */
export function leaveTopics(object: ObjectContext, run: RunId, stored: readonly StoredItem[]): void {
  prefetchTopics(object, run, stored);
  for (const item of stored) {
    if (item.kind !== "unread") continue;
    const topic = new Topic(object, item.topic);
    topic.unsubscribeAll(run);
    topic.write();
  }
}

/** Removes every topic of an ended tree. */
export function forgetTopics(object: ObjectContext): void {
  for (const prefix of ["topic/", "subscriptions/", "told/"])
    for (const name of object.list(prefix)) object.clear(name);
}

/** Prefetches a topic and the page of a run in it. */
export function prefetchTopic(object: ObjectContext, run: RunId, topic: TopicId): void {
  object.prefetch([topicKey(topic), subscriptionPageKey(getSubscriptionPage(run), topic)]);
}

function prefetchTopics(object: ObjectContext, run: RunId, stored: readonly StoredItem[]): void {
  if (object.keepsReferences) return;
  const topics = new Set(stored.flatMap((item) => (item.kind === "unread" ? [item.topic] : [])));
  if (topics.size === 0) return;
  object.prefetch(
    [...topics].flatMap((topic) => [topicKey(topic), subscriptionPageKey(getSubscriptionPage(run), topic)]),
  );
}
