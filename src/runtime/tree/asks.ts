import { Json, type MessageId, type RunId } from "#kernel";
import type { ArgumentOf } from "./protocol.ts";
import type { AsksRecord } from "./records.ts";
import type { TreeWork } from "./tree-work.ts";

/** Questions that are still waited for: both sides live. */
async function asksOf(work: TreeWork): Promise<AsksRecord> {
  const asks = Json.as<AsksRecord>((await work.object.get("asks")) ?? {});
  const open = Object.entries(asks).filter(([, { from, to }]) => work.slot(from) && work.slot(to));
  return Object.fromEntries(open);
}

/** From now on a run waits for the reply of another. */
export async function noteAsk(work: TreeWork, id: MessageId, from: RunId, to: RunId): Promise<void> {
  work.object.set("asks", Json.of({ ...(await asksOf(work)), [id]: { from, to } }));
}

async function forgetAsk(work: TreeWork, id: MessageId): Promise<void> {
  const { [id]: asked, ...asks } = await asksOf(work);
  if (asked) work.object.set("asks", Json.of(asks));
}

/** The runs that would wait on each other if `from` asked `to`; null if none would. */
export async function cycleOf(work: TreeWork, from: RunId, to: RunId): Promise<readonly RunId[] | null> {
  const edges = Object.values(await asksOf(work));
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
export async function reply(work: TreeWork, argument: ArgumentOf<"reply">): Promise<null> {
  const { ask, to, text, data } = argument;
  await forgetAsk(work, ask);
  await work.push(to, { kind: "reply", ask, text, data });
  return null;
}

/** Nobody waits for the reply any more. */
export async function unask(work: TreeWork, { ask }: ArgumentOf<"unask">): Promise<null> {
  await forgetAsk(work, ask);
  return null;
}
