import {
  listAll,
  RunId,
  StepManifest,
  type ManifestRecord,
  type Partition,
  type Store,
  type TreeId,
} from "#kernel";

/**
 * Makes the recorded content of a tree permanent: manifests and texts that would be erased with the tree's key are
 * written again with the tenant's key. Returns the number of manifests. Idempotent.
 */
export async function keepContent(store: Store, partition: Partition, tree: TreeId): Promise<number> {
  let kept = 0;
  for (const { runId } of await store.runs.tree(partition, tree))
    for await (const manifests of listAll((page) => store.manifests.list(partition, runId, page)))
      for (const record of manifests) if (await keep(store, partition, record)) kept += 1;
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
