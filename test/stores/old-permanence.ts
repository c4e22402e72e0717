import { expect } from "vitest";
import {
  AttemptId,
  type CacheEntry,
  type ManifestRecord,
  RunId,
  StepId,
  type Store,
  TenantId,
  TreeId,
} from "#kernel";

const tree = TreeId.of("books");
const acme = { tenantId: TenantId.of("acme") };
const runId = RunId.root(tree);
const kinds = [true, false];

const manifestOf = (isPermanent: boolean, index: number): ManifestRecord => ({
  runId,
  stepId: StepId.of(runId, "model", index),
  attempt: AttemptId.of("a"),
  at: index,
  isPermanent,
  body: { parts: [] },
});

const entryOf = (isPermanent: boolean): CacheEntry => ({
  key: `answer ${isPermanent}`,
  value: "42",
  at: 1,
  until: 9,
  treeId: tree,
  userId: null,
  isPermanent,
});

const textOf = (isPermanent: boolean): { readonly hash: string; readonly text: string } => ({
  hash: `hash ${isPermanent}`,
  text: "words",
});

/** Writes manifests, texts and cached answers, permanent and not. */
export async function writePermanence({ manifests, cache }: Store): Promise<void> {
  for (const [index, isPermanent] of kinds.entries()) {
    await manifests.put(acme, manifestOf(isPermanent, index), [textOf(isPermanent)]);
    await cache.put(acme, entryOf(isPermanent), { max: 9, maxBytes: 9_999 });
  }
}

/** Turns the tables into those of before migration 16. */
export const undoPermanence: readonly string[] = [
  ...["reeve_manifest", "reeve_text", "reeve_cache"].map(
    (table) => `alter table ${table} rename column is_permanent to lasts`,
  ),
  "delete from reeve_migration where number = 16",
];

/** Every row is read as it was written, and erased only if it is not permanent. */
export async function expectPermanence({ manifests, cache }: Store): Promise<void> {
  const { items } = await manifests.list(acme, runId, { size: 9 });
  expect(items).toEqual(kinds.map(manifestOf));
  for (const isPermanent of kinds) {
    const text = textOf(isPermanent);
    expect(await manifests.texts(acme, tree, { hashes: [text.hash], isPermanent })).toEqual([text]);
    const entry = entryOf(isPermanent);
    expect(await cache.get(acme, entry.key, 2)).toEqual(entry);
  }
  await manifests.erase(acme, tree);
  await cache.erase(acme, tree);
  expect(await cache.get(acme, entryOf(false).key, 2)).toBeUndefined();
  expect(await cache.get(acme, entryOf(true).key, 2)).toEqual(entryOf(true));
}
