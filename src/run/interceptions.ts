// The handlers of extensions at the moments of a turn.
//
// Job: call them in order, check their replies, and return the value that the turn continues with. Neighbours:
// extension-calls isolates each call; model-step, assemble-prompt and compaction-step call this module inside their
// steps; tool calls and results are intercepted by a guardrail and a layer, which the agents layer creates.
//
// Invariants:
// 1. Every handler of a moment is called inside a step. The input has a separate step.
// 2. Each handler sees the changes of the previous ones. An invalid reply is a failure of the handler.
import {
  interceptedMoments,
  type CancelReply,
  type ChatMessage,
  type CompactionPlan,
  type EventType,
  type ExtensionContext,
  type Hook,
  type Hooks,
  type InterceptedMoment,
  type Interceptions,
  type NumberedEvent,
} from "#kernel";
import { HookManager, compactMessages } from "#agents";
import { callLimited, reportFailure } from "./extension-calls.ts";
import { createExtensionContext } from "./extension-context.ts";
import { GatedStep, type StepExecution } from "./gated-step.ts";
import type { ReportFailure } from "./failures.ts";
import type { RunPolicy, RunServices } from "./run-services.ts";

/** Runs the handlers that may change the text of an input, in a separate step. Null: the run has no such extension. */
export function interceptInput(services: RunServices, text: string): Promise<string> | null {
  if (!services.policy.launch.interceptsInput) return null;
  const step = new GatedStep(services, { kind: "input", subject: text, of: "tool" });
  const record = step.run(async (execution) => {
    const heard = await fold(services, execution, "input", text, async (on, now, context) =>
      readReplyText("input", await on.input?.(now, context)),
    );
    return execution.calls.mustStop() ? null : { kind: "input", text: heard };
  });
  return record.then((made) => made.text);
}

/** Runs the handlers that may replace the system prompt of a turn. */
export function interceptPrompt(
  services: RunServices,
  execution: StepExecution,
  prompt: string,
): Promise<string> {
  return fold(services, execution, "beforeAgentStart", prompt, async (on, now, context) =>
    readReplyText("beforeAgentStart", await on.beforeAgentStart?.(now, context)),
  );
}

/** Runs the handlers that may filter the messages of a prompt. Returns the same list if none has changed it. */
export async function interceptMessages(
  services: RunServices,
  execution: StepExecution,
  messages: readonly ChatMessage[],
): Promise<readonly ChatMessage[]> {
  const shown = await fold(services, execution, "context", messages, async (on, now, context) =>
    readMessages(await on.context?.(now, context)),
  );
  return shown === messages ? messages : compactMessages({ compact: () => shown }, messages);
}

/** Runs the handlers that may cancel a compaction, or write its summary. Null: it is made as usual. */
export function interceptCompaction(
  services: RunServices,
  execution: StepExecution,
  plan: CompactionPlan,
): Promise<CancelReply | { readonly summary: string } | null> {
  type Decision = CancelReply | { readonly summary: string } | null;
  return fold<Decision>(services, execution, "sessionBeforeCompact", null, async (on, now, context) =>
    now && "cancel" in now ? now : readCompaction(await on.sessionBeforeCompact?.(plan, context)),
  );
}

/** Calls the handlers of a moment one after the other. Undefined from a handler: no change. */
async function fold<Value>(
  { policy }: RunServices,
  { extensions }: StepExecution,
  moment: InterceptedMoment,
  first: Value,
  call: (on: Interceptions, now: Value, context: ExtensionContext) => Promise<Value | undefined>,
): Promise<Value> {
  let now = first;
  for (const { extension, on } of policy.agent.interceptions ?? []) {
    if (on[moment] === undefined) continue;
    const before = now;
    now = (await extensions.call(extension, (context) => call(on, before, context))) ?? before;
  }
  return now;
}

/** Reads a reply. @throws TypeError for a reply that is neither empty nor a text. */
function readReplyText(moment: InterceptedMoment, reply: unknown): string | undefined {
  if (reply === undefined || reply === null) return undefined;
  if (typeof reply === "string") return reply;
  throw new TypeError(`${moment} must return nothing or a text, got ${typeof reply}`);
}

/** Reads a reply. @throws TypeError for a reply that is neither empty nor a list of messages. */
function readMessages(reply: readonly ChatMessage[] | undefined | void): readonly ChatMessage[] | undefined {
  if (reply === undefined || reply === null) return undefined;
  const isList = Array.isArray(reply) && reply.every((message) => Array.isArray(Object(message).content));
  if (isList) return reply;
  throw new TypeError("context must return nothing or a list of messages");
}

/** Reads a reply. @throws TypeError for a reply that is neither empty, `{ cancel: true }` nor `{ summary }`. */
function readCompaction(
  reply: CancelReply | { readonly summary: string } | undefined | void,
): CancelReply | { readonly summary: string } | undefined {
  if (reply === undefined || reply === null) return undefined;
  if ("cancel" in reply && reply.cancel) return { cancel: true };
  if ("summary" in reply && typeof reply.summary === "string" && reply.summary !== "")
    return { summary: reply.summary };
  throw new TypeError("sessionBeforeCompact must return nothing, { cancel: true } or { summary }");
}

const moments: ReadonlySet<string> = new Set(interceptedMoments);

/** Creates the function that passes the run's events to hooks and handlers. */
export function createOnEvents(
  services: () => RunServices,
  { policy, report }: { readonly policy: RunPolicy; readonly report: ReportFailure },
): (events: readonly NumberedEvent[]) => void {
  const watchers = createWatchers(services, policy);
  return (events) => {
    for (const event of events) {
      const onError = (error: unknown): void => void report(`hook on ${event.type}`, error);
      policy.agent.hooks?.dispatch(event, onError).catch(onError);
      watchers?.dispatch(event).catch(onError);
    }
  };
}

/** Creates hooks from the event handlers. Undefined: the run's extensions have none. */
function createWatchers(services: () => RunServices, policy: RunPolicy): Hooks | undefined {
  const { interceptions = [] } = policy.agent;
  const known = interceptions.filter(({ extension }) => policy.launch.interceptors?.includes(extension));
  const watching = known.flatMap(({ extension, on }) =>
    Object.entries(on).flatMap(([type, handler]) =>
      moments.has(type) || handler === undefined ? [] : [{ extension, type, handler }],
    ),
  );
  if (watching.length === 0) return undefined;
  const hooks = new HookManager({ timeoutMs: watchTimeoutMs });
  for (const { extension, type, handler } of watching) {
    const watch: Hook = async (event) => {
      const { engine } = services();
      try {
        await callLimited({ clock: engine.clock }, (signal) =>
          Reflect.apply(handler, undefined, [
            event,
            createExtensionContext(services(), { signal, inStep: null }),
          ]),
        );
      } catch (error) {
        reportFailure(services(), extension, error);
      }
    };
    // The names of handlers were checked when the extension was created.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    hooks.on(type as EventType, watch);
  }
  return hooks;
}

/** Timeout of the hooks: longer than that of a handler. */
const watchTimeoutMs = 90_000;
