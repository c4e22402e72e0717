import type { AgentId, AgentPolicy, AttemptId, Model, Price, StepId } from "#kernel";
import type { ReportedPrompt } from "#models";
import type { AnswerFeed } from "../deltas/delta-hub.ts";
import type { Observer } from "./observer.ts";
import type { StepHost } from "./step.ts";

/** What a model step needs besides. */
export interface ModelHost extends StepHost {
  readonly agentId: AgentId;
  readonly agentVersion: string;
  /** The agent's own model. */
  readonly model: Model | undefined;
  readonly prices: Readonly<Record<string, Price>>;
  /** For each model, the last prompt whose size its provider has told. */
  readonly reported: Map<string, ReportedPrompt>;
  readonly policy: AgentPolicy;
  readonly observer: Observer;
  /** Where the pieces of an answer go; undefined while nobody watches, nor can. */
  readonly feedOf: (step: StepId, attempt: AttemptId) => AnswerFeed | undefined;
}
