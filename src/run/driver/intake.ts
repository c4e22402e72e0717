import type { News } from "#tree";

/** The items of one take, and the callback for their delivery. */
export interface Taken {
  readonly news: News;
  readonly done: (() => void) | null;
}

/**
 * The position of a run in its inbox. Replies to concurrent takes may arrive in any order. They are put back into the
 * order of the inbox here.
 */
export class Intake {
  #latest: News;
  #early: readonly Taken[] = [];

  constructor(first: News) {
    this.#latest = first;
  }

  get cursor(): number {
    return this.#latest.cursor;
  }

  get hasMore(): boolean {
    return this.#latest.more;
  }

  get standing(): News["standing"] {
    return this.#latest.standing;
  }

  /** Returns everything that can be delivered now, in order. Items that arrive early wait for those on their way. */
  accept(taken: Taken): readonly Taken[] {
    if (this.#early.length === 0 && this.#isNext(taken)) {
      this.#advance(taken);
      return [taken];
    }
    this.#early = [...this.#early, taken];
    const ready: Taken[] = [];
    for (let next = this.#next(); next; next = this.#next()) {
      ready.push(next);
      this.#early = this.#early.filter((other) => other !== next);
      this.#advance(next);
    }
    return ready;
  }

  #next(): Taken | undefined {
    return this.#early.find((taken) => this.#isNext(taken));
  }

  #isNext({ news }: Taken): boolean {
    return news.cursor - news.items.length <= this.cursor;
  }

  #advance({ news }: Taken): void {
    if (news.cursor >= this.cursor) this.#latest = news;
  }
}
