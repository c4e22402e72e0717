/** The deadline of a run. Only the tree's time counts: a worker whose clock says that it is over asks the tree. */
export class Deadline {
  #at: number | null;
  #askAt: number;
  #mustAsk = false;

  constructor(at: number | null) {
    this.#at = at;
    this.#askAt = (at ?? Infinity) + 1;
  }

  /** When to ask, by the clock of a worker. */
  get askAt(): number {
    return this.#at === null ? Infinity : this.#askAt;
  }

  /** The tree must be asked before anything begins. */
  get mustAsk(): boolean {
    return this.#mustAsk;
  }

  isOver(treeTime: number): boolean {
    return this.#at !== null && treeTime > this.#at;
  }

  /** Takes the time of a worker, which may be wrong. */
  noticeWorkerTime(time: number): void {
    if (this.isOver(time)) this.#mustAsk = true;
  }

  /** The tree was asked. Where the deadline is not over, it is asked again when as much time has passed as is left. */
  answered(workerTime: number, treeTime: number): void {
    this.#mustAsk = false;
    if (this.#at !== null) this.#askAt = workerTime + this.#at - treeTime + 1;
  }

  /** The run ends anyway. */
  drop(): void {
    this.#at = null;
    this.#mustAsk = false;
  }
}
