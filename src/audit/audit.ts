import { type AuditEntry, type AuditHead, type Keys, Partition, SealBrokenError, type Store } from "#kernel";
import { ChainKeys } from "./chain.ts";
import { type AuditPage, type AuditVerdict, verifyChain } from "./verify.ts";

/** Whose chain. Default: that of nobody in particular. */
interface Whose {
  readonly tenant?: string;
}

const linksPerPage = 500;

/** Who decided what, as the store has it: one keyed chain of hashes for each tenant. */
export class Audit {
  readonly #on: { readonly store: Store; readonly keys: Keys } | null;

  constructor(on: { readonly store: Store; readonly keys: Keys } | null) {
    this.#on = on;
  }

  /** Links from an index on. Default: the first 100. @throws TypeError without a store. */
  read({
    tenant,
    from = 0,
    limit = 100,
  }: Whose & { readonly from?: number; readonly limit?: number } = {}): Promise<readonly AuditEntry[]> {
    return this.#need().store.audit.read(Partition.of(tenant), from, limit);
  }

  /**
   * The last link; null while there is none. Keep it where whoever can write into the store cannot: only it shows later
   * that links were cut off, or all of them replaced.
   *
   * @throws TypeError without a store.
   */
  head({ tenant }: Whose = {}): Promise<AuditHead | null> {
    return this.#need().store.audit.head(Partition.of(tenant));
  }

  /** Walks the whole chain. `head`: one that it once had. @throws TypeError without a store. */
  async verify({
    tenant,
    head = null,
  }: Whose & { readonly head?: AuditHead | null } = {}): Promise<AuditVerdict> {
    const { store, keys } = this.#need();
    const partition = Partition.of(tenant);
    const key = Partition.key(partition);
    return verifyChain(pagesOf(store, partition), new ChainKeys(key, await keys.of(key)), head);
  }

  #need(): { readonly store: Store; readonly keys: Keys } {
    if (!this.#on) throw new TypeError("the audit needs a store: createRuntime({ store })");
    return this.#on;
  }
}

/** Where a page cannot be opened, link by link up to the one that is to blame. */
async function* pagesOf({ audit }: Store, partition: Partition): AsyncGenerator<AuditPage, void> {
  let size = linksPerPage;
  for (let from = 0; ;) {
    try {
      const page = await audit.read(partition, from, size);
      yield page;
      const last = page.at(-1);
      if (!last) return;
      from = last.index + 1;
    } catch (error) {
      if (!(error instanceof SealBrokenError || error instanceof SyntaxError)) throw error;
      if (size === 1) return yield "unreadable";
      size = 1;
    }
  }
}
