import type { ConversationHistory, History, TreeHistory } from "../history.ts";
import type { Checked, Finding, Predicate } from "./predicate.ts";
import { pathOf, runOf } from "./turns-are-whole.ts";

/**
 * I17: on the main path of a conversation, every answer after untrusted content is untrusted, whichever tree gave it,
 * and none before it is. A turn that begins with untrusted input is untrusted from its first entry on. A run whose
 * budget is too small for the conversation does not see it: its last call holds only its task, and may have no labels.
 */
export const labelsStay: Predicate = {
  id: "I17",
  claim: "what is said after something untrusted is untrusted, in every later turn, and nothing before it",
  check: (history) => {
    const { conversations } = history;
    const entries = conversations.flatMap((conversation) => conversation.entries);
    const checked = conversations.map((conversation) => checkLabels(history, conversation));
    return {
      cases: entries.length,
      of: `entries, ${entries.filter(({ isUntrusted }) => isUntrusted).length} untrusted`,
      findings: checked.flatMap(({ findings }) => findings),
      excused: checked.flatMap(({ excused }) => excused),
    };
  },
};

function checkLabels(
  { trees }: History,
  conversation: ConversationHistory,
): Pick<Checked, "findings" | "excused"> {
  const { tenant, session, entries } = conversation;
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const strangers = new Set(
    trees.filter(({ plan }) => plan.isUntrusted && plan.tenant === tenant).map(({ plan }) => `${plan.id}~0`),
  );
  const unshown = new Set(trees.filter(isNotShown).map(({ plan }) => `${plan.id}~0`));
  const findings: Finding[] = [];
  const excused: Finding[] = [];
  let hasBegun = false;
  // A broken path is a finding of another predicate.
  for (const id of pathOf(conversation) ?? []) {
    const entry = byId.get(id);
    if (!entry || id.endsWith(".end")) continue;
    const where = `${tenant}/${session} ${id}`;
    hasBegun ||= strangers.has(runOf(id));
    const isLabelDue = hasBegun && (strangers.has(runOf(id)) || entry.isAnswer);
    if (isLabelDue && !entry.isUntrusted) {
      const isExcused = !strangers.has(runOf(id)) && unshown.has(runOf(id));
      (isExcused ? excused : findings).push({ where, what: "lost the label of what was said before it" });
    }
    if (!hasBegun && entry.isUntrusted)
      findings.push({ where, what: "is untrusted, and nothing before it was" });
  }
  return { findings, excused };
}

/**
 * Whether the root of a tree was refused its first call, which holds the conversation, and made its last one without
 * it. It may have been cancelled after that call.
 */
function isNotShown({ plan, end, events }: TreeHistory): boolean {
  if (end?.status !== "landed" && end?.status !== "cancelled") return false;
  const own = events.filter(({ runId }) => runId === `${plan.id}~0`);
  const denied = own.findIndex(({ type }) => type === "budget.denied");
  const answered = own.findIndex((event) => event.type === "model.end" && !event.error);
  return denied !== -1 && (answered === -1 || denied < answered);
}
