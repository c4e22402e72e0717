import { apiKeyCases } from "./api-keys.ts";
import { approvalCases } from "./approvals.ts";
import { auditCases } from "./audit.ts";
import { eventCases } from "./events.ts";
import { factCases } from "./facts.ts";
import type { StoreCase } from "./harness.ts";
import { keyCases } from "./keys.ts";
import { limitCases } from "./limits.ts";
import { runCases } from "./runs.ts";
import { sessionCases } from "./sessions.ts";
import { tenantCases } from "./tenants.ts";
import { userCases } from "./users.ts";
import { workerCases } from "./workers.ts";

/** What every store must show. */
export const storeSuite: readonly StoreCase[] = [
  ...runCases,
  ...eventCases,
  ...sessionCases,
  ...factCases,
  ...approvalCases,
  ...auditCases,
  ...keyCases,
  ...limitCases,
  ...userCases,
  ...tenantCases,
  ...workerCases,
  ...apiKeyCases,
];
