import { AttemptId, Usage, type ChatMessage, type LlmOptions, type Model, type ModelResponse } from "#kernel";
import { freezeList } from "./call-estimate.ts";
import type { StepExecution } from "./gated-step.ts";
import type { RunServices } from "./run-services.ts";

/** A model step that middleware answered without a call. */
interface AnsweredStep {
  readonly model: Model;
  /** The prompt as the layer saw it. */
  readonly messages: readonly ChatMessage[];
  readonly ephemeral?: readonly ChatMessage[] | undefined;
  readonly options: LlmOptions;
  readonly response: ModelResponse;
  readonly began: number;
}

/**
 * Records the manifest of a step that middleware answered without a call: it cost nothing. Does nothing if a call was
 * made.
 */
export async function recordAnswer(
  { engine, state }: RunServices,
  { place, io, calls }: StepExecution,
  { model, messages, ephemeral = [], options, response, began }: AnsweredStep,
): Promise<void> {
  const decisions = calls.notes.splice(0);
  if (calls.charges.length > 0 || decisions.length === 0) return;
  const ms = engine.primitives.now() - began;
  await state.steps.keepModelCall({
    step: place.id,
    model,
    messages: freezeList([...messages, ...ephemeral]),
    ephemeral,
    tools: options.tools ?? [],
    isOwn: true,
    attempts: [{ attempt: AttemptId.of(io.attempt), ms, usage: Usage.none }],
    began: [began],
    response,
    decisions,
  });
}
