import { openApi } from "./openapi.ts";
import { toJsonResponse, type Route, route } from "./route.ts";
import { actionRoutes } from "./routes/actions.ts";
import { agentRoutes } from "./routes/agents.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { auditRoutes } from "./routes/audit.ts";
import { budgetRoutes } from "./routes/budget.ts";
import { chatRoutes } from "./routes/chat.ts";
import { eventLogRoutes } from "./routes/event-log.ts";
import { devRoutes } from "./routes/dev.ts";
import { eventRoutes } from "./routes/events.ts";
import { liveRoutes } from "./routes/live.ts";
import { memoryRoutes } from "./routes/memory.ts";
import { runRoutes } from "./routes/runs.ts";
import { scheduleRoutes } from "./routes/schedules.ts";
import { sessionCookieRoutes } from "./routes/session.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { spendRoutes } from "./routes/spend.ts";
import { statusRoutes } from "./routes/status.ts";
import { stepRoutes } from "./routes/steps.ts";
import { switchRoutes } from "./routes/switches.ts";
import { webhookRoutes } from "./routes/webhooks.ts";

const described = route({
  method: "get",
  path: "/openapi.json",
  scope: "read",
  forUsers: true,
  summary: "This document",
  handle: async () => toJsonResponse(openApi(routes)),
});

/** All routes. Tests iterate over this table, so every new route is tested. */
export const routes: readonly Route[] = [
  described,
  ...sessionCookieRoutes,
  ...statusRoutes,
  ...agentRoutes,
  ...runRoutes,
  ...eventRoutes,
  ...eventLogRoutes,
  ...liveRoutes,
  ...stepRoutes,
  ...actionRoutes,
  ...approvalRoutes,
  ...sessionRoutes,
  ...memoryRoutes,
  ...scheduleRoutes,
  ...webhookRoutes,
  ...budgetRoutes,
  ...spendRoutes,
  ...switchRoutes,
  ...auditRoutes,
  ...chatRoutes,
  ...devRoutes,
];
