// State that a model is shown for one call only.
//
// Job: read the agent's ephemeral sources inside a model step, bound them, and return their labels. Neighbours:
// model-step passes the messages to model-calls, which puts them last; the step's record has their labels, never their
// content.
//
// Invariants:
// 1. A source never fails the run: a source that fails is left out and reported.
// 2. Chat middleware does not see the messages, and the size of a prompt is remembered without them.
import { ChatMessage, Labels, type EphemeralCall, type EphemeralSource, type StepId } from "#kernel";
import { withTimeout } from "#base";
import type { StepExecution } from "./gated-step.ts";
import type { RunServices } from "./run-services.ts";

/** Maximum characters of text that a source may show in one call. */
const maxCharacters = 50_000;
const defaultTimeoutMs = 5_000;

/** The state of all sources for one call. */
interface EphemeralState {
  readonly messages: readonly ChatMessage[];
  /** Undefined: none. */
  readonly labels: Labels | undefined;
}

/** Reads the agent's sources. Called inside a model step. Undefined: nothing is open. */
export async function readEphemeral(
  services: RunServices,
  execution: StepExecution,
): Promise<EphemeralState | undefined> {
  const { ephemeral = [] } = services.policy.agent;
  if (ephemeral.length === 0) return undefined;
  const states = await Promise.all(ephemeral.map((source) => readSource(services, execution, source)));
  const messages = states.flat();
  if (messages.length === 0) return undefined;
  const shown = ephemeral.filter((_, index) => states[index]?.length !== 0);
  const labels = shown.reduce(
    (joined, source) => Labels.join(joined, getSourceLabels(services, source, execution.place.id)),
    Labels.none,
  );
  return { messages: Object.freeze(messages), labels: Labels.isNone(labels) ? undefined : labels };
}

/** Closes the sources' state for an ended run. The end of the run does not wait for it. */
export function closeEphemeral({ engine, identity, policy }: RunServices): void {
  const { scope } = identity;
  for (const source of policy.agent.ephemeral ?? [])
    void Promise.resolve()
      .then(() => source.close?.({ scope }))
      .catch((error: unknown) => void engine.report(`closing the ephemeral source ${source.name}`, error));
}

async function readSource(
  { engine, identity: { scope } }: RunServices,
  { io, calls }: StepExecution,
  source: EphemeralSource,
): Promise<readonly ChatMessage[]> {
  const { timeoutMs: ms = defaultTimeoutMs, name } = source;
  const onTimeout = (): never => {
    throw new Error(`it took longer than ${ms} ms`);
  };
  try {
    const limit = { clock: engine.clock, ms, signal: io.signal, onTimeout };
    const state = await withTimeout(limit, async (limited) => {
      const call: EphemeralCall = {
        scope,
        get signal() {
          return limited.signal;
        },
      };
      return source.isOpen?.(call) === false ? null : source.getState(call);
    });
    return toMessages(state);
  } catch (error) {
    if (!calls.findStop()) engine.report(`ephemeral source ${name}`, error);
    return [];
  }
}

/**
 * Converts a source's state to messages. @throws TypeError for anything but messages of the user, and for too much
 * text.
 */
function toMessages(state: Awaited<ReturnType<EphemeralSource["getState"]>>): readonly ChatMessage[] {
  if (state === null || state.length === 0) return [];
  const messages = typeof state === "string" ? [ChatMessage.user(state)] : state;
  const other = messages.find(({ role }) => role !== "user");
  if (other) throw new TypeError(`messages must have the role user, got ${other.role}`);
  const characters = messages.reduce((sum, message) => sum + ChatMessage.text(message).length, 0);
  if (characters > maxCharacters)
    throw new TypeError(`a state must have at most ${maxCharacters} characters, got ${characters}`);
  return messages;
}

function getSourceLabels(
  { identity: { scope } }: RunServices,
  { name, trust = "untrusted", sensitivity }: EphemeralSource,
  stepId: StepId,
): Labels {
  const labels = Labels.broughtBy({ trust, sensitivity });
  return Labels.withSource(labels, { kind: "input", name, runId: scope.runId, stepId });
}
