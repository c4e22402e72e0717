import type { ConversationHistory, History } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { pathOf, runOf } from "./turns-are-whole.ts";

/**
 * I17: on the main path of a conversation every answer after something untrusted is untrusted, whichever tree gave it, and
 * nothing is before. A turn that begins with something untrusted is untrusted from its first entry on.
 */
export const labelsStay: Predicate = {
  id: "I17",
  claim: "what is said after something untrusted is untrusted, in every later turn, and nothing before it",
  looked: ({ conversations }) => {
    const entries = conversations.flatMap((conversation) => conversation.entries);
    return `${entries.filter(({ isUntrusted }) => isUntrusted).length} untrusted entries of ${entries.length}`;
  },
  findings: (history) => history.conversations.flatMap((conversation) => findings(history, conversation)),
};

function findings({ trees }: History, conversation: ConversationHistory): readonly Finding[] {
  const { tenant, session, entries } = conversation;
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const strangers = new Set(
    trees.filter(({ plan }) => plan.isUntrusted && plan.tenant === tenant).map(({ plan }) => `${plan.id}~0`),
  );
  const found: Finding[] = [];
  let hasBegun = false;
  // A broken path is a finding of another predicate.
  for (const id of pathOf(conversation) ?? []) {
    const entry = byId.get(id);
    if (!entry || id.endsWith(".end")) continue;
    const where = `${tenant}/${session} ${id}`;
    hasBegun ||= strangers.has(runOf(id));
    if (hasBegun && !entry.isUntrusted && (entry.isAnswer || strangers.has(runOf(id))))
      found.push({ where, what: "has lost the label of what was said before it" });
    if (!hasBegun && entry.isUntrusted)
      found.push({ where, what: "is untrusted, and nothing before it was" });
  }
  return found;
}
