import type { ConversationHistory, History, TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { only } from "./reading.ts";

/**
 * I16: on the main path of a conversation every tree has its whole turn, once, contiguous, in the order of the turns:
 * all of an answered one, nothing of one that failed without an effect, and of any other its entries, closed by its
 * end.
 */
export const turnsAreWhole: Predicate = {
  id: "I16",
  claim: "every turn is whole, once and in order on its conversation's path",
  check: (history) => {
    const { conversations, trees } = history;
    const entries = conversations.reduce((sum, { entries: { length } }) => sum + length, 0);
    return {
      cases: trees.filter(({ plan }) => plan.session !== null).length,
      of: `turns in ${conversations.length} conversations, ${entries} entries`,
      findings: conversations.flatMap((conversation) => findings(history, conversation)),
      excused: [],
    };
  },
};

function findings({ trees }: History, conversation: ConversationHistory): readonly Finding[] {
  const { tenant, session } = conversation;
  const where = `${tenant}/${session}`;
  const path = pathOf(conversation);
  if (path === null) return [{ where, what: "its path is broken, or leads through a branch" }];
  const turns = trees.filter(({ plan }) => plan.tenant === tenant && plan.session === session);
  return [
    ...turns.flatMap((tree) => checkTurn(tree, path)),
    ...findForeignEntries(where, turns, path),
    ...findDisorder(where, turns, path),
  ];
}

/** The ids from the first entry to the leaf; null: an entry is missing, or one is on a branch. */
export function pathOf({ leaf, entries }: ConversationHistory): readonly string[] | null {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: string[] = [];
  for (let next = leaf; next !== null;) {
    const entry = byId.get(next);
    if (!entry || entry.branch !== null || path.length > entries.length) return null;
    path.unshift(entry.id);
    next = entry.parentId;
  }
  return path;
}

export const runOf = (entry: string): string => entry.slice(0, entry.lastIndexOf("."));

function checkTurn(tree: TreeHistory, path: readonly string[]): readonly Finding[] {
  const { plan, end } = tree;
  const where = `${plan.id}~0`;
  const own = path.flatMap((id, place) =>
    runOf(id) === where ? [{ place, part: id.slice(where.length + 1) }] : [],
  );
  const said = own.filter(({ part }) => part !== "end");
  const isClosed = own.length > said.length;
  const isInOrder = own.every(({ place, part }, index) => {
    const isNext = part === "end" ? index === own.length - 1 : part === String(index + 1);
    return isNext && place === (own[0]?.place ?? 0) + index;
  });
  if (!isInOrder) return [{ where, what: `its turn is torn: ${own.map(({ part }) => part).join(" ")}` }];
  if (end === null) return said.length === 0 ? [] : [{ where, what: "has not ended, and is on the path" }];
  // A turn that landed without text is not answered.
  const isAnswered = end.status === "completed";
  if (isAnswered && (isClosed || said.length < 2))
    return [{ where, what: `was answered, ${said.length} messages are kept` }];
  // A run that answers several messages may have saved some of them.
  const hasSaved = only(tree, "turn.saved").length > 0;
  if (end.status === "failed" && said.length > 0 && !isClosed && !hasSaved)
    return [{ where, what: "failed, and half of it is kept" }];
  return [];
}

function findForeignEntries(
  where: string,
  turns: readonly TreeHistory[],
  path: readonly string[],
): readonly Finding[] {
  const known = new Set(turns.map(({ plan }) => `${plan.id}~0`));
  return path.filter((id) => !known.has(runOf(id))).map((id) => ({ where, what: `holds ${id} of another` }));
}

/** Turns follow each other as their trees began. */
function findDisorder(
  where: string,
  turns: readonly TreeHistory[],
  path: readonly string[],
): readonly Finding[] {
  const began = new Map(turns.map((tree) => [`${tree.plan.id}~0`, only(tree, "run.start")[0]?.at ?? 0]));
  const runs = [...new Set(path.map(runOf))];
  return runs.flatMap((run, index) => {
    const before = runs[index - 1];
    return before !== undefined && (began.get(before) ?? 0) > (began.get(run) ?? 0)
      ? [{ where, what: `${run} began before ${before} and follows it` }]
      : [];
  });
}
