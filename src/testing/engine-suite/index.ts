import { embeddingCases } from "./embeddings.ts";
import { ephemeralCases } from "./ephemeral.ts";
import { scheduleCases } from "./schedules.ts";
import { switchCases } from "./switches.ts";
import { sectionCases } from "./sections.ts";
import { copyCases } from "./copies.ts";
import { backlogCases } from "./backlogs.ts";
import { erasureCases } from "./erasure.ts";
import { eventCases } from "./events.ts";
import { extensionCases } from "./extensions.ts";
import { architectureCases } from "./architectures.ts";
import { approvalCases } from "./approvals.ts";
import { unfinishedCallCases } from "./unfinished-calls.ts";
import { questionCases } from "./questions.ts";
import { auditCases } from "./audit.ts";
import { secretCases } from "./secrets.ts";
import { guardrailCases } from "./guardrails.ts";
import { labelCases } from "./labels.ts";
import { ruleOfTwoCases } from "./rule-of-two.ts";
import { diagnosticCases } from "./diagnostics.ts";
import { retentionCases } from "./retention.ts";
import { lastWordsCases } from "./last-words.ts";
import { compactionCases } from "./compaction.ts";
import { conversationCases } from "./conversation.ts";
import { sessionCases } from "./sessions.ts";
import { timeCases } from "./times.ts";
import { topUpWaitCases } from "./top-up-waits.ts";
import { turnCases } from "./turns.ts";
import { topicCases } from "./topics.ts";
import { steeringCases } from "./steering.ts";
import { familyCases } from "./family.ts";
import { subscriberCases } from "./subscribers.ts";
import { deadLetterCases } from "./dead-letters.ts";
import { mailboxCases } from "./mailbox.ts";
import { waitingCallCases } from "./waiting-calls.ts";
import { waitCycleCases } from "./wait-cycle.ts";
import { askingCases } from "./asking.ts";
import { tenantCases } from "./tenant.ts";
import { treeSecretCases } from "./tree-secret.ts";
import { inheritedLimitCases } from "./inherited-limits.ts";
import { landingCases } from "./landing.ts";
import { doubtCases } from "./doubt.ts";
import { accountCases } from "./accounts.ts";
import { priceCases } from "./prices.ts";
import { refusalCases } from "./refusals.ts";
import { spendCases } from "./spend.ts";
import { holdCases } from "./hold.ts";
import { operationIdCases } from "./operation-ids.ts";
import { reprioritizeCases } from "./reprioritize.ts";
import { resumingCases } from "./resuming.ts";
import { cancelReachCases } from "./cancel-reach.ts";
import { cancelTreeCases } from "./cancel-tree.ts";
import { cancellationCases } from "./cancellation.ts";
import { contentCases } from "./content.ts";
import { stepContentCases } from "./step-content.ts";
import { continueCases } from "./continue-as.ts";
import { crashCases } from "./crash-restart.ts";
import { deadlineCases } from "./deadline.ts";
import { deadlockCases } from "./deadlock.ts";
import type { EngineCase } from "./harness.ts";
import { handoffCases } from "./handoffs.ts";
import { headcountCases } from "./headcount.ts";
import { listedMoneyCases } from "./listed-money.ts";
import { preemptionCases } from "./preemption.ts";
import { replayCases } from "./replay.ts";
import { shapeCases } from "./shapes.ts";
import { sizeCases } from "./sizes.ts";
import { standstillCases } from "./standstill.ts";
import { stepCases } from "./steps.ts";
import { stubbornCases } from "./stubborn.ts";
import { supervisionCases } from "./supervision.ts";
import { unencodableCases } from "./unencodable.ts";

/** The rules that every engine must satisfy: supervision, headcount, spend, cancellation, steps and messages. */
export const engineSuite: readonly EngineCase[] = [
  ...supervisionCases,
  ...markTimed(headcountCases),
  ...deadlockCases,
  ...preemptionCases,
  ...markTimed(cancelTreeCases),
  ...cancellationCases,
  ...markTimed(stubbornCases),
  ...unencodableCases,
  ...markTimed(cancelReachCases),
  ...markTimed(deadlineCases),
  ...shapeCases,
  ...stepCases,
  ...markTimed(timeCases),
  ...replayCases,
  ...crashCases,
  ...continueCases,
  ...resumingCases,
  ...reprioritizeCases,
  ...markTimed(holdCases),
  ...operationIdCases,
  ...priceCases,
  ...spendCases,
  ...accountCases,
  ...listedMoneyCases,
  ...doubtCases,
  ...landingCases,
  ...markTimed(waitingCallCases),
  ...topUpWaitCases,
  ...backlogCases,
  ...refusalCases,
  ...tenantCases,
  ...treeSecretCases,
  ...askingCases,
  ...standstillCases,
  ...waitCycleCases,
  ...mailboxCases,
  ...deadLetterCases,
  ...familyCases,
  ...steeringCases,
  ...topicCases,
  ...subscriberCases,
  ...sessionCases,
  ...conversationCases,
  ...compactionCases,
  ...turnCases,
  ...ephemeralCases,
  ...sectionCases,
  ...copyCases,
  ...inheritedLimitCases,
  ...embeddingCases,
  ...architectureCases,
  ...handoffCases,
  ...retentionCases,
  ...erasureCases,
  ...lastWordsCases,
  ...diagnosticCases,
  ...approvalCases,
  ...unfinishedCallCases,
  ...questionCases,
  ...eventCases,
  ...auditCases,
  ...secretCases,
  ...guardrailCases,
  ...extensionCases,
  ...labelCases,
  ...ruleOfTwoCases,
  ...sizeCases,
  ...contentCases,
  ...stepContentCases,
  ...markTimed(scheduleCases),
  ...markTimed(switchCases),
];

function markTimed(cases: readonly EngineCase[]): readonly EngineCase[] {
  return cases.map((engineCase) => ({ ...engineCase, timed: true }));
}
