import type { WorkerRecord, WorkerStore } from "#kernel";
import { copy } from "./tenant-map.ts";

export class MemoryWorkers implements WorkerStore {
  readonly #workers = new Map<string, WorkerRecord>();

  async announce(worker: WorkerRecord, at: number): Promise<void> {
    for (const { id, expiresAt } of this.#workers.values()) if (expiresAt <= at) this.#workers.delete(id);
    this.#workers.set(worker.id, copy(worker));
  }

  async list(at: number): Promise<readonly WorkerRecord[]> {
    const live = [...this.#workers.values()].filter(({ expiresAt }) => expiresAt > at);
    return live.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(copy);
  }

  async withdraw(id: string): Promise<void> {
    this.#workers.delete(id);
  }
}
