/** The deadline of a run. Only the tree's time counts: a worker whose clock says that it has passed asks the tree. */
export class Deadline {
  #at: number | null;
  #askAt: number;
  #mustAsk = false;

  constructor(at: number | null) {
    this.#at = at;
    this.#askAt = (at ?? Infinity) + 1;
  }

  /** The worker time at which to ask the tree. */
  get askAt(): number {
    return this.#at === null ? Infinity : this.#askAt;
  }

  /** Whether the tree must be asked before anything begins. */
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

  /** Handles the tree's time. If the deadline has not passed, the tree is asked again after the remaining time. */
  noticeTreeTime(workerTime: number, treeTime: number): void {
    this.#mustAsk = false;
    if (this.#at !== null) this.#askAt = workerTime + this.#at - treeTime + 1;
  }

  /** Drops the deadline, because the run ends anyway. */
  drop(): void {
    this.#at = null;
    this.#mustAsk = false;
  }
}
