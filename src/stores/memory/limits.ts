import { type LimitStore, LimitState, type RateRequest, type Partition } from "#kernel";
import { TenantMap } from "./tenant-map.ts";

export class MemoryLimits implements LimitStore {
  readonly byTenant = new TenantMap<LimitState>();

  async take(
    partition: Partition,
    key: string,
    { rate, now }: { readonly rate: RateRequest; readonly now: number },
  ): Promise<number> {
    const { state, waitMs } = LimitState.take(this.#find(partition, key), rate, now);
    this.byTenant.getItems(partition).set(key, state);
    return waitMs;
  }

  async correct(partition: Partition, key: string, used: Readonly<Record<string, number>>): Promise<void> {
    this.byTenant.getItems(partition).set(key, LimitState.correct(this.#find(partition, key), used));
  }

  async slow(partition: Partition, key: string, until: number): Promise<void> {
    this.byTenant.getItems(partition).set(key, LimitState.slow(this.#find(partition, key), until));
  }

  #find(partition: Partition, key: string): LimitState {
    return this.byTenant.getItems(partition).get(key) ?? LimitState.none;
  }
}
