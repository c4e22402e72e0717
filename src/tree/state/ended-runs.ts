import { type AgentId, eraseError, Json, type ObjectContext, RunId, type RunResult } from "#kernel";
import { closeContent } from "./content.ts";
import { endedKey, type EndedRecord, type TreeDeps, type TreeRecord } from "./records.ts";
import { readEnded, writeEnded } from "./stored-run.ts";
import { finishedKey } from "./tree-record.ts";
import type { TreeWork } from "./tree-work.ts";

/** The erasable content of a run's result. */
type Words = Pick<RunResult, "output" | "error">;

/** Returns the key of a run's content that is erased with its tree. */
export const contentKey = (run: RunId): string => `content/${run}`;

/** Records an ended run. Erasable content is stored separately. */
export function recordEnded(work: TreeWork, id: RunId, ended: EndedRecord): void {
  if (ended.retention === "permanent") return writeEnded(work.object, id, ended);
  const { output, error } = ended.result;
  work.object.set(contentKey(id), Json.of({ output, error } satisfies Words));
  writeEnded(work.object, id, { ...ended, result: withoutWords(ended.result) });
  if (!work.tree.hasErasable) work.change({ hasErasable: true });
}

function withoutWords({ error, ...result }: RunResult): RunResult {
  return { ...result, output: null, erased: true, ...(error && { error: eraseError(error) }) };
}

/** Returns the result of an ended run. Null while it lives. */
export function readEndedResult(object: ObjectContext, run: RunId): RunResult | null {
  const ended = endedOf(object, run);
  if (!ended?.result.erased) return ended?.result ?? null;
  const words = Json.as<Words | null>(object.get(contentKey(run)));
  const { erased: _, ...result } = ended.result;
  return words ? { ...result, ...words } : ended.result;
}

/** Number of ended runs that one value holds once their tree is erased. */
export const runsPerPage = 256;

/**
 * Maximum size of a folded record. A longer one, of a run with a permanent output, stays separate, so that a page has a
 * bounded size.
 */
const maxFoldedCharacters = 2_000;

const endedPageKey = (run: RunId): string => `ended/page/${Math.floor(RunId.number(run) / runsPerPage)}`;

/** Returns the names to read for the records of ended runs. */
export const endedKeys = (runs: readonly RunId[]): readonly string[] => [
  ...new Set(runs.flatMap((run) => [endedKey(run), endedPageKey(run)])),
];

/** Returns the record of an ended run. Null if it is alive, or never existed. */
export function endedOf(object: ObjectContext, run: RunId): EndedRecord | null {
  if (!object.keepsReferences) object.prefetch(endedKeys([run]));
  const own = readEnded(object, run);
  if (own) return own;
  const page = Json.as<readonly EndedRecord[] | null>(object.get(endedPageKey(run)));
  return page?.find(({ result }) => result.runId === run) ?? null;
}

/** Returns the agent of a run that may have ended, as a field of an event. Empty if the run never existed. */
export function agentField(work: TreeWork, run: RunId): { readonly agent?: AgentId } {
  const known = work.run(run) ?? work.lastKnown(run) ?? endedOf(work.object, run);
  return known ? { agent: known.agentId } : {};
}

/** Folds the records of ended runs into one value. All runs must be of one page. `whole`: erases all of their content. */
export function foldEnded(object: ObjectContext, runs: readonly RunId[], whole: boolean): void {
  const [first] = runs;
  if (first === undefined) return;
  const ended = runs.flatMap((run) => endedOf(object, run) ?? []);
  const records = whole ? ended.map((record) => ({ ...record, result: withoutWords(record.result) })) : ended;
  const folded = records.filter((record) => JSON.stringify(record).length <= maxFoldedCharacters);
  object.set(endedPageKey(first), Json.of(folded));
  for (const record of records)
    if (folded.includes(record)) object.clear(endedKey(record.result.runId));
    else if (whole) writeEnded(object, record.result.runId, record);
}

/** Time after its end for which a tree keeps its own copies, so that waiting callers can read the result. */
const maxOwnCopiesMs = 30_000;

export const ownCopiesMs = ({ eraseAfterMs }: Pick<TreeDeps, "eraseAfterMs">): number =>
  Math.min(eraseAfterMs, maxOwnCopiesMs);

/** Schedules the erasure of an ended tree's own copies. After it, the tree is finished. */
export function eraseLater(work: TreeWork): void {
  const { projects } = work.host;
  const { hasErasable, projection, nextRun } = work.tree;
  const delayMs = ownCopiesMs(work.host);
  const later = { delayMs, bestEffort: true };
  const at = work.now + delayMs;
  const content = hasErasable ? (nextRun === 1 ? "all" : "some") : "none";
  if (projects) work.orderProjector({ kind: "erase", after: projection.upTo, content, at }, later);
  else if (hasErasable) work.object.send({ type: "tree", key: work.object.key }, "erase", { at }, later);
  else {
    closeContent(work);
    work.object.set(finishedKey, true);
  }
}

/** Returns every run that a tree ever had. */
export const runsOf = ({ treeId, nextRun }: TreeRecord): readonly RunId[] =>
  Array.from({ length: nextRun }, (_, number) => RunId.of(treeId, number));
