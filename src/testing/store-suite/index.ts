import { apiKeyCases } from "./api-keys.ts";
import { approvalCases } from "./approvals.ts";
import { auditCases } from "./audit.ts";
import { blockCases } from "./blocks.ts";
import { cacheCases } from "./cache.ts";
import { erasedTreeCases } from "./erased-trees.ts";
import { eventCases } from "./events.ts";
import { factCases } from "./facts.ts";
import type { StoreCase } from "./harness.ts";
import { keyCases } from "./keys.ts";
import { lostTurnCases } from "./lost-turns.ts";
import { manifestCases } from "./manifests.ts";
import { limitCases } from "./limits.ts";
import { memoryCrossingCases } from "./memory-crossings.ts";
import { memorySearchCases } from "./memory-search.ts";
import { runCases } from "./runs.ts";
import { sessionCases } from "./sessions.ts";
import { spendCases } from "./spend.ts";
import { spendSumCases } from "./spend-sums.ts";
import { tenantCases } from "./tenants.ts";
import { turnCases } from "./turns.ts";
import { userCases } from "./users.ts";
import { vectorCases } from "./vectors.ts";
import { webhookCases } from "./webhooks.ts";
import { workerCases } from "./workers.ts";

/** The rules that every store must satisfy. */
export const storeSuite: readonly StoreCase[] = [
  ...runCases,
  ...eventCases,
  ...sessionCases,
  ...turnCases,
  ...lostTurnCases,
  ...factCases,
  ...blockCases,
  ...memorySearchCases,
  ...vectorCases,
  ...approvalCases,
  ...auditCases,
  ...keyCases,
  ...manifestCases,
  ...limitCases,
  ...cacheCases,
  ...erasedTreeCases,
  ...userCases,
  ...tenantCases,
  ...memoryCrossingCases,
  ...workerCases,
  ...apiKeyCases,
  ...webhookCases,
  ...spendCases,
  ...spendSumCases,
];
