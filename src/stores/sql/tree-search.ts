import type { PageCursor, TreeSearch } from "#kernel";
import { type SelectQueryBuilder, sql } from "kysely";
import { isBehindCursor } from "./newest-first.ts";
import type { Tables } from "./tables.ts";

/** The first text behind all that begin with one. Every id and name compares below the last character that there is. */
const toPrefixEnd = (prefix: string): string => `${prefix}\u{10FFFF}`;

/** Restricts runs to the roots of a search, in the order of an index, behind a place. */
export function selectFound<Row>(
  runs: SelectQueryBuilder<Tables, "reeve_run", Row>,
  search: TreeSearch,
  after: PageCursor | null,
): SelectQueryBuilder<Tables, "reeve_run", Row> {
  const roots = runs.where("parent_run_id", "is", null);
  if ("minCostMicros" in search)
    return roots
      .where("spend", ">=", search.minCostMicros)
      .where((eb) => isBehindCursor(eb, { at: "spend", id: "run_id", place: after }))
      .orderBy("spend", "desc")
      .orderBy("run_id", "desc");
  if ("id" in search)
    return roots
      .where("run_id", ">=", search.id)
      .where("run_id", "<", toPrefixEnd(search.id))
      .$if(after !== null, (query) => query.where("run_id", ">", after?.[1] ?? ""))
      .orderBy("run_id");
  const [name = "", run = ""] = splitLast(after?.[1] ?? "");
  return roots
    .where("name", "is not", null)
    .where("name", ">=", search.name)
    .where("name", "<", toPrefixEnd(search.name))
    .$if(after !== null, (query) => query.where(sql<boolean>`(name, run_id) > (${name}, ${run})`))
    .orderBy("name")
    .orderBy("run_id");
}

/** A name may hold any character, an id no line break. */
function splitLast(text: string): readonly string[] {
  const at = text.lastIndexOf("\n");
  return [text.slice(0, Math.max(0, at)), text.slice(at + 1)];
}
