// The services of one run, in four parts: `engine`, `identity`, `policy` and `state`.
//
// A function takes the part it needs, or all four to pass them on. The parts that every step needs, `engine` and
// `identity`, are defined in step.ts; the others here. Only `state` changes while the run executes, and only in the
// order of its journal, so a replay sees the same.
import {
  Labels,
  type AgentPolicy,
  type Approver,
  type LabelSource,
  type Model,
  type PermissionRule,
  type Permissions,
  type RunId,
  type StepId,
  type Tool,
} from "#kernel";
import type { LaunchPolicy, RunRandom } from "#tree";
import type { RunCache } from "./answer-cache.ts";
import type { CallSizing } from "./call-estimate.ts";
import type { Journal } from "./driver/journal.ts";
import type { ExtensionPort } from "./extension-host.ts";
import type { GuardrailRunner } from "./guardrails.ts";
import type { PromptFiles } from "./read-files.ts";
import type { RunSession } from "./run-session.ts";
import type { OpenMemory } from "./scoped-memory.ts";
import type { PromptDeps } from "./section-cache.ts";
import type { StepRecorder } from "./step-manifest.ts";
import type { StepServices } from "./step.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** All services that the steps of a run need. */
export interface RunServices extends StepServices {
  readonly policy: RunPolicy;
  readonly state: RunState;
}

/**
 * The policy part of a run's services: the agent's own options, and the limits set by its ancestors and the runtime.
 */
export interface RunPolicy {
  /** The agent's own policy. */
  readonly agent: AgentPolicy;
  /** The agent's own model. */
  readonly model: Model | undefined;
  readonly tools: readonly Tool[];
  /** The names of the tools that the run may call. Null: all. */
  readonly whitelist: readonly string[] | null;
  /** The agent's permissions, or the runtime's if the agent has none. */
  readonly permissions: Permissions;
  /** The rules of the ancestors, which only narrow. */
  readonly rules: readonly PermissionRule[];
  /** The code that decides about approvals. Null if this worker has none. */
  readonly approver: Approver | null;
  /** The policy that the run was launched with: the same on every worker. */
  readonly launch: LaunchPolicy;
  readonly guardrails: GuardrailRunner;
  /** The data of this process that system prompts show. */
  readonly prompt: PromptDeps;
  /** The runtime's functions for handlers of extensions. */
  readonly extensions: ExtensionPort;
}

/** The state part of a run's services. */
interface RunState extends CallSizing {
  /** The labels of the content that the run has seen. */
  readonly labels: RunLabels;
  /** The files in its prompts. */
  readonly files: PromptFiles;
  /** The run's part in its conversation. */
  readonly session: RunSession;
  readonly openMemory: OpenMemory;
  /** The answer cache of the run. */
  readonly cache: RunCache;
  /** Records the manifests of steps. */
  readonly steps: StepRecorder;
  readonly journal: Journal;
  readonly random: RunRandom;
  /** The subscriptions of the run to topics. */
  readonly subscriptions: Subscriptions;
  /** Whether messages, steering or follow-ups wait. */
  readonly hasPendingMessages: () => boolean;
  /** The system prompt of the last model step. Empty: there was none. */
  readonly lastPrompt: { system: string };
}

/** The labels of the content that a run has seen. They grow in the order of its journal, so a replay has the same. */
export class RunLabels {
  readonly #runId: RunId;
  #now: Labels;

  constructor(runId: RunId, before: Labels = Labels.none) {
    this.#runId = runId;
    this.#now = before;
  }

  get now(): Labels {
    return this.#now;
  }

  /** The labels of every message of the run. Undefined if there are none. */
  get told(): Labels | undefined {
    return Labels.isNone(this.#now) ? undefined : this.#now;
  }

  /** Adds labels, with their source here if they name none themselves. */
  join(
    seen: Labels | undefined,
    kind: LabelSource["kind"],
    name: string,
    stepId: StepId | null = null,
  ): void {
    if (!seen) return;
    this.#now = Labels.join(this.#now, Labels.withSource(seen, { kind, name, runId: this.#runId, stepId }));
  }
}
