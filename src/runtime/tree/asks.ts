import { Json, type MessageId, type RunId } from "#kernel";
import { take } from "./gate.ts";
import type { ArgumentOf, News } from "./protocol.ts";
import type { AsksRecord } from "./records.ts";
import type { TreeWork } from "./tree-work.ts";

/** Questions that are still waited for: both sides live. */
function asksOf(work: TreeWork): AsksRecord {
  const asks = Json.as<AsksRecord>(work.object.get("asks") ?? {});
  const open = Object.entries(asks).filter(([, { from, to }]) => work.slot(from) && work.slot(to));
  return Object.fromEntries(open);
}

/** From now on a run waits for the reply of another. */
export function noteAsk(work: TreeWork, id: MessageId, from: RunId, to: RunId): void {
  work.object.set("asks", Json.of({ ...asksOf(work), [id]: { from, to } }));
}

function forgetAsk(work: TreeWork, id: MessageId): void {
  const { [id]: asked, ...asks } = asksOf(work);
  if (asked) work.object.set("asks", Json.of(asks));
}

/** The runs that would wait on each other if `from` asked `to`; null if none would. */
export function cycleOf(work: TreeWork, from: RunId, to: RunId): readonly RunId[] | null {
  const edges = Object.values(asksOf(work));
  const walk = (at: RunId, path: readonly RunId[]): readonly RunId[] | null => {
    if (at === from) return [...path, at];
    if (path.includes(at)) return null;
    for (const edge of edges) {
      const found = edge.from === at ? walk(edge.to, [...path, at]) : null;
      if (found) return found;
    }
    return null;
  };
  return walk(to, [from]);
}

/** Brings an answer to the run that asked, if it still lives. */
export function reply(work: TreeWork, argument: ArgumentOf<"reply">): News {
  const { ask, to, text, data, labels } = argument;
  forgetAsk(work, ask);
  work.push(to, { kind: "reply", ask, text, data, labels });
  return take(work, argument);
}

/** Nobody waits for the reply any more. */
export function unask(work: TreeWork, { ask }: ArgumentOf<"unask">): null {
  forgetAsk(work, ask);
  return null;
}
