import { approvalCases } from "./approvals.ts";
import { auditCases } from "./audit.ts";
import { secretCases } from "./secrets.ts";
import { guardrailCases } from "./guardrails.ts";
import { labelCases } from "./labels.ts";
import { ruleOfTwoCases } from "./rule-of-two.ts";
import { retentionCases } from "./retention.ts";
import { sessionCases } from "./sessions.ts";
import { topicCases } from "./topics.ts";
import { steeringCases } from "./steering.ts";
import { familyCases } from "./family.ts";
import { deadLetterCases } from "./dead-letters.ts";
import { mailboxCases } from "./mailbox.ts";
import { waitCycleCases } from "./wait-cycle.ts";
import { askingCases } from "./asking.ts";
import { tenantCases } from "./tenant.ts";
import { landingCases } from "./landing.ts";
import { doubtCases } from "./doubt.ts";
import { accountCases } from "./accounts.ts";
import { spendCases } from "./spend.ts";
import { holdCases } from "./hold.ts";
import { reprioritizeCases } from "./reprioritize.ts";
import { resumingCases } from "./resuming.ts";
import { cancelReachCases } from "./cancel-reach.ts";
import { cancelTreeCases } from "./cancel-tree.ts";
import { cancellationCases } from "./cancellation.ts";
import { continueCases } from "./continue-as.ts";
import { crashCases } from "./crash-restart.ts";
import { deadlineCases } from "./deadline.ts";
import { deadlockCases } from "./deadlock.ts";
import type { EngineCase } from "./harness.ts";
import { headcountCases } from "./headcount.ts";
import { preemptionCases } from "./preemption.ts";
import { replayCases } from "./replay.ts";
import { shapeCases } from "./shapes.ts";
import { stepCases } from "./steps.ts";
import { supervisionCases } from "./supervision.ts";

/** What every engine must show: the rules of supervision, headcount, spend, cancellation, steps and talking. */
export const engineSuite: readonly EngineCase[] = [
  ...supervisionCases,
  ...headcountCases,
  ...deadlockCases,
  ...preemptionCases,
  ...cancelTreeCases,
  ...cancellationCases,
  ...cancelReachCases,
  ...deadlineCases,
  ...shapeCases,
  ...stepCases,
  ...replayCases,
  ...crashCases,
  ...continueCases,
  ...resumingCases,
  ...reprioritizeCases,
  ...holdCases,
  ...spendCases,
  ...accountCases,
  ...doubtCases,
  ...landingCases,
  ...tenantCases,
  ...askingCases,
  ...waitCycleCases,
  ...mailboxCases,
  ...deadLetterCases,
  ...familyCases,
  ...steeringCases,
  ...topicCases,
  ...sessionCases,
  ...retentionCases,
  ...approvalCases,
  ...auditCases,
  ...secretCases,
  ...guardrailCases,
  ...labelCases,
  ...ruleOfTwoCases,
];
