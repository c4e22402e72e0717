export { treeAddress, treeAt } from "./addresses.ts";
export {
  checkInput,
  inputKey,
  inputPrint,
  keepFiles,
  toInputParts,
  toInlineBlocks,
  type InputParts,
  type NameContent,
} from "./input.ts";
export { createLaunchPolicies, type GuardHook, type LaunchPolicy } from "./launch-policy.ts";
export { withBatch } from "./methods/batch.ts";
export type { OpenArgument } from "./open-argument.ts";
export type { ProjectorOrder, StoreErasure, TurnOrder } from "./orders.ts";
export { methodOf, readLaunchInput, upgradeBatch, upgradeReply } from "./previous-protocol.ts";
export { isKnownProtocol, protocolNumber, withProtocol } from "./protocol-number.ts";
export type {
  ArgumentOf,
  BeginArgument,
  LaunchInput,
  FromRun,
  InboxBatch,
  ReplyOf,
  RunMethod,
  RunReply,
  TreeMethod,
  CallRequest,
} from "./protocol.ts";
export {
  cancelDoneKey,
  closedKey,
  endedKey,
  type AgentsRecord,
  type CarriedPrompt,
  type CarriedSubscription,
  type CarriedTurn,
  type CompactionOrder,
  type EndReport,
  type InboxItem,
  type Question,
  type SentContent,
  type Task,
  type TurnPosition,
} from "./state/records.ts";
export { type BacklogLimits, type BacklogSize, defaultBacklogs, type UnreadItems } from "./state/backlogs.ts";
export type { FinalResult, Report, ReportedEventType, Settlement } from "./report.ts";
export { CronTicks } from "./schedule/cron-ticks.ts";
export type { CatchUp } from "./schedule/plan-ticks.ts";
export type { ListSchedulesArgument } from "./schedule/schedule-list.ts";
export { scheduleObjects } from "./schedule/schedule-object.ts";
export {
  isOfSchedule,
  scheduleAddress,
  scheduleListAddress,
  type ScheduleLimits,
  type ScheduleRefusal,
  tickSinkType,
  type ScheduledStart,
  type ScheduleOwner,
  type ScheduleReply,
  type ScheduleSpec,
  type SetScheduleArgument,
  type TickOrder,
  type TickResult,
} from "./schedule/schedule-protocol.ts";
export { tickTree } from "./schedule/tick-tree.ts";
export {
  claimAddress,
  sessionAddress,
  sessionObject,
  type ClaimArgument,
  type InvokeArgument,
} from "./session-object.ts";
export { findLaunchProblem } from "./shapes/launch-shapes.ts";
export { checkSize, maxEventBytes } from "./state/size.ts";
export {
  switchesAddress,
  type SetSwitchArgument,
  type SwitchKind,
  type SwitchesReply,
  type SwitchRecord,
  type SwitchRef,
} from "./switches/switch-protocol.ts";
export { switchesObject } from "./switches/switches-object.ts";
export { tenantObject } from "./tenant/tenant-object.ts";
export { tenantAddress, type SetBudgetArgument } from "./tenant/tenant-protocol.ts";
export { callTree, treeObject } from "./tree-object.ts";
export { RunRandom, TreeSecret } from "./tree-secret.ts";
export { projectorType } from "./state/tree-work.ts";
export { versionedObject } from "./versioned-object.ts";
