import type { InboxBatch } from "#tree";

/** The items of one take, and the callback for their delivery. */
export interface IntakeItem {
  readonly news: InboxBatch;
  readonly onDelivered: (() => void) | null;
}

/**
 * The position of a run in its inbox. Replies to concurrent takes may arrive in any order. They are put back into the
 * order of the inbox here.
 */
export class Intake {
  #latest: InboxBatch;
  #early: readonly IntakeItem[] = [];

  /** Begins before the first news: they are accepted like all others. */
  constructor(first: InboxBatch) {
    this.#latest = { ...first, cursor: first.cursor - first.items.length, items: [] };
  }

  get cursor(): number {
    return this.#latest.cursor;
  }

  /** Whether to take again. False while an earlier take is still in flight: its reply fills the gap. */
  get hasMore(): boolean {
    return this.#latest.more && this.#early.length === 0;
  }

  get slotState(): InboxBatch["slotState"] {
    return this.#latest.slotState;
  }

  /** Returns everything that can be delivered now, in order. Items that arrive early wait for those on their way. */
  accept(taken: IntakeItem): readonly IntakeItem[] {
    if (this.#early.length === 0 && this.#isNext(taken)) return [this.#advance(taken)];
    this.#early = [...this.#early, taken];
    const ready: IntakeItem[] = [];
    for (let next = this.#findNext(); next; next = this.#findNext()) {
      this.#early = this.#early.filter((other) => other !== next);
      ready.push(this.#advance(next));
    }
    return ready;
  }

  #findNext(): IntakeItem | undefined {
    return this.#early.find((taken) => this.#isNext(taken));
  }

  #isNext({ news }: IntakeItem): boolean {
    return news.cursor - news.items.length <= this.cursor;
  }

  /** Returns what is new of it: a wake-up may have brought an item before the call that takes it is answered. */
  #advance({ news, onDelivered }: IntakeItem): IntakeItem {
    const known = Math.max(0, this.cursor - (news.cursor - news.items.length));
    if (news.cursor >= this.cursor) this.#latest = news;
    return known === 0
      ? { news, onDelivered }
      : { news: { ...news, items: news.items.slice(known) }, onDelivered };
  }
}
