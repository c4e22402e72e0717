import type { TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";

/** I13: two subscribers, one of which reconnected with a cursor, got 1 to n, each once and equal, to the end. */
export const eventsWithoutGap: Predicate = {
  id: "I13",
  claim: "subscribers get 1..n, no gap, no duplicate, the same",
  check: ({ trees }) => ({
    cases: trees.flatMap(({ events }) => events).length,
    of: "events, two subscribers",
    findings: trees.flatMap(findings),
    excused: [],
  }),
};

function findings({ plan, end, events, eventsAgain }: TreeHistory): readonly Finding[] {
  const where = plan.id;
  const found: Finding[] = [];
  for (const list of [events, eventsAgain]) {
    const wrong = list.findIndex(({ seq }, index) => seq !== index + 1);
    if (wrong >= 0) found.push({ where, what: `event ${wrong + 1} is number ${list[wrong]?.seq}` });
    const ids = new Set(list.map(({ eventId }) => eventId));
    if (ids.size !== list.length)
      found.push({ where, what: `${list.length - ids.size} events came under another number again` });
  }
  const differs = events.findIndex(({ eventId }, index) => eventId !== eventsAgain[index]?.eventId);
  if (differs >= 0 && differs < eventsAgain.length)
    found.push({ where, what: `two subscribers got different events as number ${differs + 1}` });
  const isWhole = events.some(({ type, runId }) => type === "run.end" && runId === `${plan.id}~0`);
  if (end !== null && (events.length !== eventsAgain.length || !isWhole))
    found.push({
      where,
      what: `ended, but subscribers got ${events.length} and ${eventsAgain.length} events`,
    });
  return found;
}
