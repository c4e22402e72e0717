import { Json, type ManifestStore, type Partition, type PromptManifest, RunId, type StepId } from "#kernel";
import type { Selectable } from "kysely";
import type { Access } from "./access.ts";
import type { Tables } from "./tables.ts";

export class SqlManifests implements ManifestStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async put(partition: Partition, { runId, stepId, at, parts }: PromptManifest): Promise<void> {
    await this.#access.write(partition, (db, tenant) =>
      db
        .insertInto("reeve_manifest")
        .values({
          tenant_id: tenant,
          step_id: stepId,
          run_id: runId,
          tree_id: RunId.tree(runId),
          at,
          parts: JSON.stringify(parts),
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    );
  }

  async get(partition: Partition, step: StepId): Promise<PromptManifest | null> {
    const row = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_manifest")
        .selectAll()
        .where((eb) => eb.and({ tenant_id: tenant, step_id: step }))
        .executeTakeFirst(),
    );
    return row ? manifestOf(row) : null;
  }

  async list(partition: Partition, run: RunId): Promise<readonly PromptManifest[]> {
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_manifest")
        .selectAll()
        .where((eb) => eb.and({ tenant_id: tenant, run_id: run }))
        .orderBy("at")
        .orderBy("step_id")
        .execute(),
    );
    return rows.map(manifestOf);
  }
}

function manifestOf({ run_id, step_id, at, parts }: Selectable<Tables["reeve_manifest"]>): PromptManifest {
  return Json.as({ runId: run_id, stepId: step_id, at, parts: Json.of(JSON.parse(parts)) });
}
