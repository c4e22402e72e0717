import { type Fact, isJsonObject, type Json, Labels, MemoryBlock, RunId } from "#kernel";
import type { Selectable } from "kysely";
import type { Tables } from "./tables.ts";

/** Labels that cannot be read are taken for the worst. */
const decodeLabels = (value: Json | undefined): Labels =>
  value === undefined ? Labels.none : (Labels.decode(value) ?? Labels.of({ untrusted: true, private: true }));

const parseRunId = (value: Json | undefined): RunId | null =>
  typeof value === "string" && RunId.is(value) ? value : null;

/** Returns the fact of a row. */
export function factOf(row: Selectable<Tables["reeve_memory_fact"]>): Fact {
  const body: unknown = JSON.parse(row.body);
  const { value = null, runId, labels } = isJsonObject(body) ? body : {};
  return {
    id: row.fact_id,
    key: row.key,
    value,
    validFrom: row.valid_from,
    validTo: row.valid_to,
    recordedAt: row.recorded_at,
    runId: parseRunId(runId),
    labels: decodeLabels(labels),
  };
}

/** Returns the block of a row. */
export function blockOf({
  name,
  version,
  updated_at,
  body,
}: Selectable<Tables["reeve_memory_block"]>): MemoryBlock {
  const said: unknown = JSON.parse(body);
  const { text, limit, runId, labels, authors } = isJsonObject(said) ? said : {};
  return {
    name,
    text: typeof text === "string" ? text : "",
    limit: typeof limit === "number" ? limit : 1,
    version,
    updatedAt: updated_at,
    runId: parseRunId(runId),
    labels: decodeLabels(labels),
    ...MemoryBlock.decodeAuthors(authors),
  };
}
