import type { Adoption, AdoptionOutcome, EntryDraft, EntryId, SessionEntry, Settlement } from "reeve/store";
import type { RunId, SessionId } from "reeve";

/** The reference model of a session: a list of entries and some leaves. */
export class PlainSession {
  readonly id: SessionId;
  readonly forkedFrom: { readonly session: SessionId; readonly entry: EntryId } | null;
  entries: SessionEntry[] = [];
  leaf: EntryId | null = null;
  readonly branches = new Map<RunId, EntryId>();
  readonly settled = new Set<RunId>();

  constructor(id: SessionId, forkedFrom: PlainSession["forkedFrom"] = null) {
    this.id = id;
    this.forkedFrom = forkedFrom;
  }

  get main(): readonly SessionEntry[] {
    return this.entries.filter(({ branch }) => branch === null);
  }

  append(drafts: readonly EntryDraft[], branch: RunId | null = null, after?: EntryId | null): void {
    let parentId = after === undefined ? this.leafOf(branch) : after;
    for (const draft of drafts) {
      this.entries.push({ ...draft, parentId, branch });
      parentId = draft.id;
    }
    if (branch === null) this.leaf = parentId;
    else if (parentId) this.branches.set(branch, parentId);
  }

  leafOf(branch: RunId | null): EntryId | null {
    return branch === null ? this.leaf : (this.branches.get(branch) ?? null);
  }

  /** Returns the entries from the root to an entry. */
  path(to: EntryId | null): readonly SessionEntry[] {
    const entry = this.entries.find(({ id }) => id === to);
    return entry ? [...this.path(entry.parentId), entry] : [];
  }

  fork(entry: EntryId, id: SessionId): PlainSession {
    const fork = new PlainSession(id, { session: this.id, entry });
    fork.entries = this.path(entry).map((each) => Object.assign(structuredClone(each), { branch: null }));
    fork.leaf = entry;
    return fork;
  }

  /** Returns the entry that a branch begins below. */
  startOf(branch: RunId): EntryId | null {
    const path = this.path(this.leafOf(branch)).toReversed();
    return path.find((entry) => entry.branch !== branch)?.id ?? null;
  }

  adopt(branch: RunId, { last, follows, from = follows }: Adoption): AdoptionOutcome {
    if (this.settled.has(branch)) return "settled";
    if (this.main.some(({ id }) => id === last)) return "adopted";
    if (this.leaf !== follows) return "overtaken";
    if (this.leafOf(branch) !== last || this.startOf(branch) !== from) return "incomplete";
    this.#merge(branch, last);
    return "adopted";
  }

  settle(branch: RunId, { end, goesBack = false }: Settlement): boolean {
    if (this.settled.has(branch)) return true;
    const parentId = this.leafOf(branch);
    if (end && parentId !== null) {
      if (!goesBack && this.startOf(branch) !== this.leaf) return false;
      this.entries.push({ ...end, parentId, branch });
      this.#merge(branch, end.id);
    }
    this.entries = this.entries.filter((entry) => entry.branch !== branch);
    this.branches.delete(branch);
    this.settled.add(branch);
    return true;
  }

  #merge(branch: RunId, leaf: EntryId): void {
    this.entries = this.entries.map((entry) =>
      entry.branch === branch ? Object.assign({}, entry, { branch: null }) : entry,
    );
    this.branches.delete(branch);
    this.leaf = leaf;
  }

  get labels(): ReadonlyMap<EntryId, string> {
    const labels = new Map<EntryId, string>();
    for (const entry of this.entries) {
      if (entry.type === "label" && entry.label === null) labels.delete(entry.target);
      if (entry.type === "label" && entry.label !== null) labels.set(entry.target, entry.label);
    }
    return labels;
  }
}
