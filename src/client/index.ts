export { Client, createClient, type ApprovalSettings, type ClientOptions } from "./client.ts";
export {
  ClientConversation,
  type ClientTurnStream,
  type SessionState,
  type StreamSettings,
} from "./client-conversation.ts";
export { ClientError, type ClientErrorData } from "./client-error.ts";
export { ClientRun, type EventOptions, type SentStep } from "./client-run.ts";
export { ClientMemory, type ForgottenFacts, type MemoryUser } from "./client-memory.ts";
export { ClientWebhooks, type WebhookBody } from "./client-webhooks.ts";
export { ClientSchedules, type ScheduleSettings, type ScheduleUser } from "./client-schedules.ts";
export { ClientSessions, type SessionQuery, type SessionSettings } from "./client-sessions.ts";
export { ClientSwitches, type ClientSwitchTarget } from "./client-switches.ts";
export { Http, type HttpOptions, type StreamOptions } from "./http.ts";
export type { SentApproval, SentResult } from "#kernel";
export { SentInput } from "./sent-input.ts";
export type { SentEvent } from "./server-sent-events.ts";
export type { CompactionSettings, StartSettings, TurnSettings } from "./start-settings.ts";
