export {
  accountsOf,
  spendLevel,
  spendOf,
  type AccountView,
  type SpendLevel,
  type SpendView,
} from "./accounts.ts";
export type { AgentState } from "./agent-state.ts";
export type {
  Activity,
  AgentEnd,
  AgentView,
  AskView,
  DeadLetter,
  Denial,
  LaneKind,
  LaneSpan,
  LimitWarning,
  RefusedSpawn,
  TreeCounts,
  TreeView,
} from "./agent-view.ts";
export { billOf, type Bill, type BillLine } from "./steps/bill.ts";
export {
  costOf,
  StepLog,
  type AttemptFigures,
  type EventDecision,
  type StepFigures,
  type StepState,
} from "./steps/step-log.ts";
export { allAgents, TreeModel, type ProgressUpdate, type TreeSnapshot } from "./tree-model.ts";
export { activityText, errorName, named } from "./words/activity-text.ts";
export { count, counted, duration, exactUsd, moment, usd } from "./words/amounts.ts";
export { argumentTexts } from "./words/argument-texts.ts";
export { clean, cleanLines } from "./words/clean.ts";
export { type Facts, fromEvents, type Known, type Why } from "./words/known.ts";
export { denials } from "./words/asides.ts";
export { denialText, limitText, refusedDimension } from "./words/limit-text.ts";
export { remedies } from "./words/remedies.ts";
export { reasonText, statusText, statusWidth, type Tone } from "./words/status-text.ts";
export { visible } from "./words/visible.ts";
export { whyNotBegun, whyUnanswered } from "./words/why-stuck.ts";
export { why } from "./words/why.ts";
