import { RunId, StepManifest, type ManifestRecord, type Partition, type Store, type TreeId } from "#kernel";

const manifestsPerRead = 100;

/**
 * Makes the recorded content of a tree permanent: manifests and texts that would be erased with the tree's key are
 * written again with the tenant's key. Returns the number of manifests. Idempotent.
 */
export async function keepContent(store: Store, partition: Partition, tree: TreeId): Promise<number> {
  let kept = 0;
  for (const { runId } of await store.runs.tree(partition, tree))
    for (let after: string | null = ""; after !== null;) {
      const request = { size: manifestsPerRead, ...(after !== "" && { after }) };
      const page: Awaited<ReturnType<Store["manifests"]["list"]>> = await store.manifests.list(
        partition,
        runId,
        request,
      );
      for (const record of page.items) if (await keep(store, partition, record)) kept += 1;
      after = page.next;
    }
  return kept;
}

/** Keeps a manifest. Returns whether it existed and was erasable. */
async function keep(store: Store, partition: Partition, record: ManifestRecord): Promise<boolean> {
  if (record.isPermanent || record.body === null) return false;
  const { prompt, answer } = StepManifest.decode(record.body);
  const hashes = [...prompt, ...answer].flatMap(({ hash, notStored }) => (notStored ? [] : [hash]));
  const query = { hashes: [...new Set(hashes)], isPermanent: false };
  const texts = await store.manifests.texts(partition, RunId.tree(record.runId), query);
  await store.manifests.put(partition, { ...record, isPermanent: true }, texts);
  return true;
}
