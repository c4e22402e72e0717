import type { ApiKeyRecord, ApiKeyStore, UserId } from "#kernel";
import { copy } from "./tenant-map.ts";

export class MemoryApiKeys implements ApiKeyStore {
  readonly #keys = new Map<string, ApiKeyRecord>();

  async put(key: ApiKeyRecord): Promise<void> {
    if (!this.#keys.has(key.id)) this.#keys.set(key.id, copy(key));
  }

  async find(id: string): Promise<ApiKeyRecord | null> {
    const key = this.#keys.get(id);
    return key ? copy(key) : null;
  }

  async list(tenant: string | null): Promise<readonly ApiKeyRecord[]> {
    const theirs = [...this.#keys.values()].filter((key) => key.tenant === tenant);
    return theirs.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(copy);
  }

  async revoke(tenant: string | null, id: string): Promise<void> {
    if (this.#keys.get(id)?.tenant === tenant) this.#keys.delete(id);
  }

  /** Revokes the keys that are bound to a user. */
  revokeUser(tenant: string | null, user: UserId): void {
    for (const [id, key] of this.#keys) if (key.tenant === tenant && key.user === user) this.#keys.delete(id);
  }
}
