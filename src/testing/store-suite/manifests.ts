import assert from "node:assert/strict";
import { AttemptId, type ManifestRecord, type ManifestText, RunId, StepId } from "#kernel";
import { manifestOf, root, createTenant, type StoreCase, storeCase, tree } from "./harness.ts";

const page = { size: 100 };
const text = (hash: string): ManifestText => ({ hash, text: `text of ${hash}` });

const steps = (records: readonly ManifestRecord[]): string[] => records.map(({ stepId }) => stepId);

export const manifestCases: readonly StoreCase[] = [
  storeCase(
    "a manifest is kept once for each attempt of a step, and listed by run, oldest first",
    async ({ store: { manifests }, tenant }) => {
      const again = manifestOf(1, { attempt: AttemptId.of("b"), at: 5_000 });
      for (const each of [manifestOf(2), again, manifestOf(1)]) await manifests.put(tenant, each, []);
      await manifests.put(tenant, { ...manifestOf(1), body: "other" }, []);
      assert.deepEqual(await manifests.get(tenant, again.stepId), [manifestOf(1), again]);
      const { items, next } = await manifests.list(tenant, root, page);
      assert.deepEqual([items, next], [[manifestOf(1), manifestOf(2), again], null]);
      assert.deepEqual((await manifests.list(tenant, RunId.of(tree, 1), page)).items, []);
      assert.deepEqual(await manifests.get(tenant, StepId.of(root, "model", 9)), []);
      assert.deepEqual(await manifests.get(createTenant(), again.stepId), []);
    },
  ),

  storeCase("pages of manifests show each one once", async ({ store: { manifests }, tenant }) => {
    const all = Array.from({ length: 25 }, (_, n) => manifestOf(n, { at: 1_000 + Math.floor(n / 7) }));
    for (const each of all) await manifests.put(tenant, each, []);
    const seen: ManifestRecord[] = [];
    for (let after: string | null = ""; after !== null;) {
      const request: { readonly size: number; readonly after?: string } = {
        size: 4,
        ...(after && { after }),
      };
      const { items, next } = await manifests.list(tenant, root, request);
      seen.push(...items);
      after = next;
    }
    assert.deepEqual(steps(seen).toSorted(), steps(all).toSorted());
    assert.deepEqual(
      seen.map(({ at }) => at),
      seen.map(({ at }) => at).toSorted((a, b) => a - b),
    );
  }),

  storeCase("a text is kept once for a tree and lifetime", async ({ store: { manifests }, tenant }) => {
    await manifests.put(tenant, manifestOf(1), [text("x"), text("y")]);
    await manifests.put(tenant, manifestOf(2), [{ hash: "x", text: "other" }]);
    await manifests.put(tenant, manifestOf(3, { isPermanent: false }), [text("z")]);
    const query = { hashes: ["x", "y", "z", "none"], isPermanent: true };
    const found = await manifests.texts(tenant, tree, query);
    assert.deepEqual(
      found.toSorted((a, b) => (a.hash < b.hash ? -1 : 1)),
      [text("x"), text("y")],
    );
    assert.deepEqual(await manifests.texts(tenant, tree, { ...query, isPermanent: false }), [text("z")]);
    assert.deepEqual(await manifests.texts(tenant, tree, { hashes: [], isPermanent: true }), []);
    assert.deepEqual(await manifests.texts(createTenant(), tree, query), []);
  }),

  storeCase(
    "erasing removes non-lasting manifests; a manifest put again as lasting stays",
    async ({ store: { manifests }, tenant }) => {
      const [gone, kept, lasting] = [1, 2, 3].map((n) => manifestOf(n, { isPermanent: n === 3 }));
      assert.ok(gone && kept && lasting);
      for (const each of [gone, kept, lasting]) await manifests.put(tenant, each, [text(each.stepId)]);
      await manifests.put(tenant, { ...kept, isPermanent: true }, [text(kept.stepId)]);
      await manifests.put(tenant, kept, [text(kept.stepId)]);
      await manifests.erase(tenant, tree);
      await manifests.erase(tenant, tree);
      const { items } = await manifests.list(tenant, root, page);
      assert.deepEqual(items, [{ ...gone, body: null }, { ...kept, isPermanent: true }, lasting]);
      const hashes = [gone, kept, lasting].map(({ stepId }) => stepId);
      assert.deepEqual(await manifests.texts(tenant, tree, { hashes, isPermanent: false }), []);
      assert.equal((await manifests.texts(tenant, tree, { hashes, isPermanent: true })).length, 2);
    },
  ),
];
