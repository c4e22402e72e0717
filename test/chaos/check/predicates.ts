import { auditIsWhole } from "./audit-is-whole.ts";
import { billWithinTheCap } from "./bill-within-the-cap.ts";
import { eachStepJournaledOnce } from "./each-step-journaled-once.ts";
import { effectsAppliedOnce } from "./effects-applied-once.ts";
import { eventsWithoutGap } from "./events-without-gap.ts";
import { everyCallReserved } from "./every-call-reserved.ts";
import { everyRunEndsOnce } from "./every-run-ends-once.ts";
import { headcountHolds } from "./headcount-holds.ts";
import { ledgerCoversTheBill } from "./ledger-covers-the-bill.ts";
import { labelsStay } from "./labels-stay.ts";
import { nothingBeginsAfterACancel } from "./nothing-begins-after-a-cancel.ts";
import { nothingPaidTwice } from "./nothing-paid-twice.ts";
import { promptsAreRebuilt } from "./prompts-are-rebuilt.ts";
import { nothingReadable } from "./nothing-readable.ts";
import type { Predicate } from "./predicate.ts";
import { replayRepeats } from "./replay-repeats.ts";
import { settledEqualsTheBill } from "./settled-equals-the-bill.ts";
import { tenantsApart } from "./tenants-apart.ts";
import { turnsAreWhole } from "./turns-are-whole.ts";

/** All that is checked of a campaign. */
export const predicates: readonly Predicate[] = [
  everyRunEndsOnce,
  eachStepJournaledOnce,
  nothingPaidTwice,
  everyCallReserved,
  ledgerCoversTheBill,
  settledEqualsTheBill,
  billWithinTheCap,
  effectsAppliedOnce,
  headcountHolds,
  nothingBeginsAfterACancel,
  nothingReadable,
  auditIsWhole,
  eventsWithoutGap,
  replayRepeats,
  tenantsApart,
  turnsAreWhole,
  labelsStay,
  promptsAreRebuilt,
];
