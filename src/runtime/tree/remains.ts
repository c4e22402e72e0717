import {
  eraseError,
  eraseEvent,
  Json,
  type NumberedEvent,
  type ObjectContext,
  RunId,
  type RunResult,
} from "#kernel";
import { eraseApprovals } from "./approvals.ts";
import { endedKey, type EndedRecord, type TreeRecord } from "./records.ts";
import { eventPages, type TreeWork } from "./tree-work.ts";

/** What a run said that does not stay. */
type Words = Pick<RunResult, "output" | "error">;

/** Where the words of a run lie that go with its tree. */
const wordsKey = (run: RunId): string => `words/${run}`;

/** Keeps what stays of a run, apart from the words that do not. */
export function bury(work: TreeWork, id: RunId, ended: EndedRecord): void {
  if (ended.retention === "permanent") return work.object.keep(endedKey(id), Json.of(ended));
  const { output, error } = ended.result;
  work.object.set(wordsKey(id), Json.of({ output, error } satisfies Words));
  work.object.keep(endedKey(id), Json.of({ ...ended, result: withoutWords(ended.result) }));
  if (!work.tree.fleeting) work.change({ fleeting: true });
}

function withoutWords({ error, ...result }: RunResult): RunResult {
  return { ...result, output: null, erased: true, ...(error && { error: eraseError(error) }) };
}

/** What a run left behind; null while it lives. */
export function remains(object: ObjectContext, run: RunId): RunResult | null {
  const ended = endedOf(object, run);
  if (!ended?.result.erased) return ended?.result ?? null;
  const words = Json.as<Words | null>(object.get(wordsKey(run)));
  const { erased: _, ...result } = ended.result;
  return words ? { ...result, ...words } : ended.result;
}

export const endedOf = (object: ObjectContext, run: RunId): EndedRecord | null =>
  Json.as(object.get(endedKey(run)));

/** The tree is over: what does not stay goes after a while, when those who wait for it have read it. */
export function eraseLater(work: TreeWork): void {
  const { eraseAfterMs, projects } = work.host;
  const { fleeting, projection } = work.tree;
  const later = { delayMs: eraseAfterMs, mayLapse: true };
  const at = work.now + eraseAfterMs;
  if (projects) work.orderProjector({ kind: "erase", after: projection.upTo, at }, later);
  else if (fleeting) work.object.send({ type: "tree", key: work.object.key }, "erase", { at }, later);
}

/** Removes every word that does not stay; full pages of events altogether, where a store has them. */
export function erase(work: TreeWork): null {
  const { tree, object, host } = work;
  if (tree.status !== "closed" || tree.erased) return null;
  const runs = runsOf(tree);
  const fleeting = runs.filter((run) => endedOf(object, run)?.retention !== "permanent").length;
  for (const run of runs) object.clear(wordsKey(run));
  eraseApprovals(object);
  for (const page of eventPages(tree)) {
    if (host.projects) object.clear(page);
    else object.keep(page, Json.of(leftOf(object, Json.as(object.get(page)))));
  }
  // The tail stays where it is: later events are counted into pages from its first.
  work.change({ erased: true, tail: leftOf(object, tree.tail), scope: { ...tree.scope, metadata: {} } });
  // By a call of its own: one that has asked anything cannot be repeated without the key.
  if (host.projects) work.orderProjector({ kind: "forget", runs: fleeting });
  return null;
}

const leftOf = (object: ObjectContext, events: readonly NumberedEvent[]): readonly NumberedEvent[] =>
  events.map((event) =>
    endedOf(object, event.runId)?.retention === "permanent" ? event : eraseEvent(event),
  );

/** Every run a tree ever had. */
export const runsOf = ({ treeId, nextRun }: TreeRecord): readonly RunId[] =>
  Array.from({ length: nextRun }, (_, number) => RunId.of(treeId, number));
