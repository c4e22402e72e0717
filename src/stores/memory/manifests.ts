import type { ManifestStore, Partition, PromptManifest, RunId, StepId } from "#kernel";
import { copy, Shelf } from "./shelf.ts";

export class MemoryManifests implements ManifestStore {
  readonly shelf = new Shelf<PromptManifest>();

  async put(partition: Partition, manifest: PromptManifest): Promise<void> {
    const manifests = this.shelf.of(partition);
    if (!manifests.has(manifest.stepId)) manifests.set(manifest.stepId, copy(manifest));
  }

  async get(partition: Partition, step: StepId): Promise<PromptManifest | null> {
    return this.shelf.of(partition).get(step) ?? null;
  }

  async list(partition: Partition, run: RunId): Promise<readonly PromptManifest[]> {
    const found = [...this.shelf.of(partition).values()].filter(({ runId }) => runId === run);
    return found.toSorted((a, b) => a.at - b.at || (a.stepId < b.stepId ? -1 : 1));
  }
}
