import type { News } from "#tree";

/** What one take brought, and whom to tell when that is told. */
export interface Taken {
  readonly news: News;
  readonly done: (() => void) | null;
}

/**
 * How a run stands in its inbox. Takes that are in flight together may be answered in any order: here they are put
 * back into the order of the inbox.
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

  /** Everything that can be told now, in order. What comes too early waits for what is still on its way. */
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
