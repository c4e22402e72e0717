import {
  RunId,
  StepId,
  type ManifestRecord,
  type ManifestStore,
  type ManifestText,
  type Page,
  type PageRequest,
  type Partition,
  type PageCursor,
  type TreeId,
} from "#kernel";
import type { ErasedTrees } from "./erased-trees.ts";
import { copy, pageFrom, TenantMap } from "./tenant-map.ts";

interface MemoryText extends ManifestText {
  readonly isPermanent: boolean;
}

export class MemoryManifests implements ManifestStore {
  readonly #manifests = new TenantMap<Map<string, ManifestRecord>>();
  readonly #texts = new TenantMap<Map<string, MemoryText>>();

  readonly #erased: ErasedTrees;

  constructor(erased: ErasedTrees) {
    this.#erased = erased;
  }

  async put(partition: Partition, manifest: ManifestRecord, texts: readonly ManifestText[]): Promise<void> {
    const { runId, isPermanent } = manifest;
    const tree = RunId.tree(runId);
    if (this.#erased.hasContent(partition, tree)) return;
    await this.putTexts(partition, tree, { texts, isPermanent });
    const manifests = ofTree(this.#manifests, partition, tree);
    const known = manifests.get(toManifestId(manifest));
    if (!known || (isPermanent && !known.isPermanent)) manifests.set(toManifestId(manifest), copy(manifest));
  }

  async putTexts(
    partition: Partition,
    tree: TreeId,
    { texts, isPermanent }: { readonly texts: readonly ManifestText[]; readonly isPermanent: boolean },
  ): Promise<void> {
    if (this.#erased.hasContent(partition, tree)) return;
    const kept = ofTree(this.#texts, partition, tree);
    for (const text of texts) {
      const key = `${text.hash} ${isPermanent}`;
      if (!kept.has(key)) kept.set(key, { ...text, isPermanent });
    }
  }

  async get(partition: Partition, step: StepId): Promise<readonly ManifestRecord[]> {
    const tree = RunId.tree(StepId.run(step));
    const found = [...ofTree(this.#manifests, partition, tree).values()];
    return found
      .filter(({ stepId }) => stepId === step)
      .toSorted((a, b) => a.at - b.at || (a.attempt < b.attempt ? -1 : 1));
  }

  async list(partition: Partition, run: RunId, request: PageRequest): Promise<Page<ManifestRecord>> {
    const manifests = ofTree(this.#manifests, partition, RunId.tree(run)).values();
    return pageFrom(
      [...manifests].filter(({ runId }) => runId === run),
      request,
      toManifestCursor,
    );
  }

  async texts(
    partition: Partition,
    tree: TreeId,
    { hashes, isPermanent }: { readonly hashes: readonly string[]; readonly isPermanent: boolean },
  ): Promise<readonly ManifestText[]> {
    const kept = ofTree(this.#texts, partition, tree);
    return [...new Set(hashes)].flatMap((hash) => {
      const found = kept.get(`${hash} ${isPermanent}`);
      return found ? [{ hash, text: found.text }] : [];
    });
  }

  async erase(partition: Partition, tree: TreeId): Promise<void> {
    const manifests = ofTree(this.#manifests, partition, tree);
    for (const [key, manifest] of manifests)
      if (!manifest.isPermanent) manifests.set(key, { ...manifest, body: null });
    const texts = ofTree(this.#texts, partition, tree);
    for (const [key, { isPermanent }] of texts) if (!isPermanent) texts.delete(key);
  }

  async eraseTexts(partition: Partition, tree: TreeId, hashes: readonly string[]): Promise<void> {
    const texts = ofTree(this.#texts, partition, tree);
    for (const hash of hashes)
      for (const isPermanent of [true, false]) texts.delete(`${hash} ${isPermanent}`);
  }

  /** Erases manifests and texts of a tree, lasting ones included. */
  eraseAll(partition: Partition, tree: TreeId): void {
    const manifests = ofTree(this.#manifests, partition, tree);
    for (const [key, manifest] of manifests) manifests.set(key, { ...manifest, body: null });
    this.#texts.getItems(partition).delete(tree);
  }

  /** Removes everything of a tree. */
  forget(partition: Partition, tree: TreeId): void {
    this.#manifests.getItems(partition).delete(tree);
    this.#texts.getItems(partition).delete(tree);
  }
}

const toManifestId = ({ stepId, attempt }: ManifestRecord): string => `${stepId} ${attempt}`;
const toManifestCursor = (manifest: ManifestRecord): PageCursor => [manifest.at, toManifestId(manifest)];

function ofTree<Item>(
  byTenant: TenantMap<Map<string, Item>>,
  partition: Partition,
  tree: TreeId,
): Map<string, Item> {
  const trees = byTenant.getItems(partition);
  const known = trees.get(tree);
  if (known) return known;
  const items = new Map<string, Item>();
  trees.set(tree, items);
  return items;
}
