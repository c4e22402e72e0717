import {
  AttemptId,
  Json,
  Page,
  RunId,
  StepId,
  type ManifestRecord,
  type ManifestStore,
  type ManifestText,
  type PageRequest,
  type Partition,
  type PageCursor,
  type TreeId,
} from "#kernel";
import type { Kysely, Selectable } from "kysely";
import { type Access, batches, type Work } from "./access.ts";
import { eraseManifests, writeUnlessErased } from "./erased-trees.ts";
import type { Tables } from "./tables.ts";

export class SqlManifests implements ManifestStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async put(partition: Partition, manifest: ManifestRecord, texts: readonly ManifestText[]): Promise<void> {
    const { runId, stepId, attempt, at, body } = manifest;
    const tree = RunId.tree(runId);
    const is_permanent = Number(manifest.isPermanent);
    await writeUnlessErased(this.#access, { partition, tree, part: "content" }, async (db, tenant) => {
      const own = { tenant_id: tenant, tree_id: tree, is_permanent };
      await insertTexts(db, own, texts);
      await db
        .insertInto("reeve_manifest")
        .values({ ...own, step_id: stepId, attempt, run_id: runId, at, body: JSON.stringify(body) })
        .onConflict((conflict) =>
          conflict
            .columns(["tenant_id", "step_id", "attempt"])
            .doUpdateSet((eb) => ({
              is_permanent: eb.ref("excluded.is_permanent"),
              body: eb.ref("excluded.body"),
            }))
            .whereRef("reeve_manifest.is_permanent", "<", "excluded.is_permanent"),
        )
        .execute();
    });
  }

  async putTexts(
    partition: Partition,
    tree: TreeId,
    { texts, isPermanent }: { readonly texts: readonly ManifestText[]; readonly isPermanent: boolean },
  ): Promise<void> {
    await writeUnlessErased(this.#access, { partition, tree, part: "content" }, (db, tenant) =>
      insertTexts(db, { tenant_id: tenant, tree_id: tree, is_permanent: Number(isPermanent) }, texts),
    );
  }

  async get(partition: Partition, step: StepId): Promise<readonly ManifestRecord[]> {
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_manifest")
        .selectAll()
        .where((eb) => eb.and({ tenant_id: tenant, step_id: step }))
        .orderBy("at")
        .orderBy("attempt")
        .execute(),
    );
    return rows.map(manifestOf);
  }

  async list(partition: Partition, run: RunId, request: PageRequest): Promise<Page<ManifestRecord>> {
    const { size, after } = Page.request(request);
    const rows = await this.#access.read(partition, (db, tenant) => {
      const own = db
        .selectFrom("reeve_manifest")
        .selectAll()
        .where((eb) => eb.and({ tenant_id: tenant, run_id: run }));
      const [at, id] = after ?? [0, ""];
      const [step = "", attempt = ""] = id.split(" ");
      const rest = own.where((eb) =>
        eb(eb.refTuple("at", "step_id", "attempt"), ">", eb.tuple(at, step, attempt)),
      );
      return (after === null ? own : rest)
        .orderBy("at")
        .orderBy("step_id")
        .orderBy("attempt")
        .limit(size + 1)
        .execute();
    });
    return Page.of(rows.map(manifestOf), size, toManifestCursor);
  }

  async texts(
    partition: Partition,
    tree: TreeId,
    { hashes, isPermanent }: { readonly hashes: readonly string[]; readonly isPermanent: boolean },
  ): Promise<readonly ManifestText[]> {
    const found = await this.#access.read(partition, async (db, tenant) => {
      const rows: { readonly hash: string; readonly body: string }[] = [];
      for (const batch of batches(hashes))
        rows.push(
          ...(await db
            .selectFrom("reeve_text")
            .select(["hash", "body"])
            .where((eb) => eb.and({ tenant_id: tenant, tree_id: tree, is_permanent: Number(isPermanent) }))
            .where("hash", "in", batch)
            .execute()),
        );
      return rows;
    });
    return found.map(({ hash, body }) => ({ hash, text: body }));
  }

  async erase(partition: Partition, tree: TreeId): Promise<void> {
    const erase: Work<void> = (db, tenant) =>
      eraseManifests(db, { tenant_id: tenant, tree_id: tree, is_permanent: 0 });
    // The last that is erased of a tree whose retention is over.
    await this.#access.write(partition, erase, { erases: true });
  }

  async eraseTexts(partition: Partition, tree: TreeId, hashes: readonly string[]): Promise<void> {
    const erase: Work<void> = async (db, tenant) => {
      for (const batch of batches(hashes))
        await db
          .deleteFrom("reeve_text")
          .where((eb) => eb.and({ tenant_id: tenant, tree_id: tree }))
          .where("hash", "in", batch)
          .execute();
    };
    await this.#access.write(partition, erase, { erases: true });
  }
}

async function insertTexts(
  db: Kysely<Tables>,
  own: Pick<Selectable<Tables["reeve_text"]>, "tenant_id" | "tree_id" | "is_permanent">,
  texts: readonly ManifestText[],
): Promise<void> {
  for (const batch of batches(texts))
    await db
      .insertInto("reeve_text")
      .values(batch.map(({ hash, text }) => Object.assign({ hash, body: text }, own)))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
}

const toManifestCursor = ({ at, stepId, attempt }: ManifestRecord): PageCursor => [
  at,
  `${stepId} ${attempt}`,
];

function manifestOf({
  run_id,
  step_id,
  attempt,
  at,
  is_permanent,
  body,
}: Selectable<Tables["reeve_manifest"]>): ManifestRecord {
  return {
    runId: RunId.parse(run_id),
    stepId: StepId.parse(step_id),
    attempt: AttemptId.of(attempt),
    at,
    isPermanent: is_permanent === 1,
    body: Json.of(JSON.parse(body)),
  };
}
