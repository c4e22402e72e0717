import {
  type AuditEntry,
  type AuditHead,
  isJsonObject,
  Json,
  type Keys,
  Partition,
  RunId,
  SealBrokenError,
  type Store,
  TreeId,
} from "#kernel";
import { ChainKeys } from "./chain.ts";
import { type AuditPage, type AuditVerdict, verifyChain } from "./verify.ts";

/** Tenant to read. Default: the partition without a tenant. */
interface TenantFilter {
  readonly tenant?: string;
}

/** The store of the chains, and their keys. */
interface AuditDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly now: () => number;
}

/** A page of the audit, newest first. */
export interface AuditList {
  readonly items: readonly AuditEntry[];
  /** The value of `before` for the next page; null: this is the last one. */
  readonly next: number | null;
}

/** The outcome of a verification, and its time. */
export interface AuditReport {
  readonly at: number;
  readonly verdict: AuditVerdict;
  /** Whether the chain was compared with a head stored elsewhere. */
  readonly hadHead: boolean;
}

/** The signed part of a report. */
interface ReportBody extends Omit<AuditReport, "at"> {
  /** The head that the last verified chain had. A fault does not change it. Null: none was verified yet. */
  readonly known: AuditHead | null;
}

const linksPerPage = 500;

/** Audited decisions in the store: one keyed hash chain per tenant. */
export class Audit {
  readonly #on: AuditDeps | null;

  constructor(on: AuditDeps | null) {
    this.#on = on;
  }

  /** Links, newest first: of a kind, about a tree, or about a run. @throws TypeError without a store. */
  async list({
    tenant,
    kind,
    tree,
    run,
    before,
    limit = 100,
  }: TenantFilter & {
    readonly kind?: string;
    readonly tree?: string;
    readonly run?: string;
    /** Returns only links before this index. Default: all. */
    readonly before?: number;
    readonly limit?: number;
  } = {}): Promise<AuditList> {
    const { audit } = this.#need().store;
    const runId = run === undefined ? null : RunId.parse(run);
    const treeId = tree === undefined ? runId && RunId.tree(runId) : TreeId.of(tree);
    const filter = { ...(kind !== undefined && { kind }), ...(treeId && { sourcePrefix: `${treeId}/` }) };
    const isWanted = (link: AuditEntry): boolean => treeId === null || isAbout(link, treeId, runId);
    const items: AuditEntry[] = [];
    for (let from = before; items.length <= limit;) {
      const page = await audit.list(
        Partition.of(tenant),
        { ...filter, ...(from !== undefined && { before: from }) },
        limit + 1,
      );
      items.push(...page.filter(isWanted));
      if (page.length <= limit) break;
      from = page.at(-1)?.index;
    }
    const shown = items.slice(0, limit);
    return { items: shown, next: items.length > limit ? (shown.at(-1)?.index ?? null) : null };
  }

  /** Links from an index on. Default: the first 100. @throws TypeError without a store. */
  read({
    tenant,
    from = 0,
    limit = 100,
  }: TenantFilter & { readonly from?: number; readonly limit?: number } = {}): Promise<
    readonly AuditEntry[]
  > {
    return this.#need().store.audit.read(Partition.of(tenant), from, limit);
  }

  /**
   * Returns the last link. Null if there is none. Store it where those who can write to the store cannot: only it
   * proves later that no links were cut off or replaced.
   * @throws TypeError without a store.
   */
  head({ tenant }: TenantFilter = {}): Promise<AuditHead | null> {
    return this.#need().store.audit.head(Partition.of(tenant));
  }

  /**
   * Verifies the whole chain, also against the last report: links that it verified must still be there. `head`: another
   * head the chain once had. `onProgress` is called after each page with the number of links verified. The report is
   * stored for {@link Audit.lastReport}. @throws TypeError without a store.
   */
  async verify({
    tenant,
    head = null,
    onProgress,
  }: TenantFilter & {
    readonly head?: AuditHead | null;
    readonly onProgress?: (checked: number) => void;
  } = {}): Promise<AuditVerdict> {
    const { store, now } = this.#need();
    const partition = Partition.of(tenant);
    const keys = await this.#keys(partition);
    const known = (await this.#readReport(partition, keys))?.body.known ?? null;
    const kept = [head, known].flatMap((each) => each ?? []);
    const verdict = await verifyChain(pagesOf(store, partition), keys, kept, onProgress);
    const body: ReportBody = { verdict, hadHead: head !== null, known: verdict.ok ? verdict.head : known };
    const check = keys.signCheck(now(), Json.of(body));
    // The report is valid even if it cannot be stored.
    await store.audit.keepCheck(partition, check).catch(() => undefined);
    return verdict;
  }

  /**
   * Returns the report of the last verification. Null if there was none, or its record was changed. The chain may have
   * changed since. @throws TypeError without a store.
   */
  async lastReport({ tenant }: TenantFilter = {}): Promise<AuditReport | null> {
    const partition = Partition.of(tenant);
    const report = await this.#readReport(partition, await this.#keys(partition));
    return report && { at: report.at, verdict: report.body.verdict, hadHead: report.body.hadHead };
  }

  /** Returns the last report. Null: there is none, or it is not signed with one of these keys. */
  async #readReport(
    partition: Partition,
    keys: ChainKeys,
  ): Promise<{ readonly at: number; readonly body: ReportBody } | null> {
    const check = await this.#need().store.audit.check(partition);
    return check && keys.isSigned(check) ? { at: check.at, body: Json.as(check.body) } : null;
  }

  async #keys(partition: Partition): Promise<ChainKeys> {
    const key = Partition.key(partition);
    return new ChainKeys(key, await this.#need().keys.getRing(key));
  }

  #need(): AuditDeps {
    if (!this.#on) throw new TypeError("the audit needs a store: createRuntime({ store })");
    return this.#on;
  }
}

/** Whether a link is about a tree, or about one run of it. Its source alone may be a tree or a tenant's budget. */
function isAbout({ data }: AuditEntry, tree: TreeId, run: RunId | null): boolean {
  if (!isJsonObject(data)) return false;
  const { run: about, tree: erased } = data;
  if (run) return about === run;
  return erased === tree || (typeof about === "string" && RunId.is(about) && RunId.tree(about) === tree);
}

/** Yields pages. If a page cannot be opened, yields single links up to the faulty one. */
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
