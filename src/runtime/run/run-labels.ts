import { Labels } from "#kernel";

/** What a run has seen. Grows in the order of its journal, so a replay knows the same. */
export class RunLabels {
  #now: Labels;

  constructor(before: Labels = Labels.none) {
    this.#now = before;
  }

  get now(): Labels {
    return this.#now;
  }

  /** To go with whatever the run says; undefined where there is nothing of note. */
  get told(): Labels | undefined {
    return Labels.isNone(this.#now) ? undefined : this.#now;
  }

  join(seen: Labels | undefined): void {
    this.#now = Labels.join(this.#now, seen);
  }
}
