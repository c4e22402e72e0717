import { hash } from "node:crypto";
import {
  AgentId,
  ProgramError,
  ChatMessage,
  decodeError,
  encodeError,
  Labels,
  Price,
  ReeveError,
  type Usage,
  type ChatContext,
  type Diagnostic,
  type EntryId,
  type ErrorData,
  type LlmOptions,
  type Model,
  type ModelResponse,
  type ShownSection,
} from "#kernel";
import { failedLayer, placeRetry, throughLayers } from "#agents";
import { recordAnswer } from "./answered-step.ts";
import { assemblePrompt, isDueAfter } from "./assemble-prompt.ts";
import { freezeList } from "./call-estimate.ts";
import { readEphemeral } from "./ephemeral.ts";
import { withDiagnostic } from "./failures.ts";
import { GatedStep, toStepScope, type StepExecution } from "./gated-step.ts";
import { interceptPrompt } from "./interceptions.ts";
import { defaultTimeoutMs } from "./model-calls.ts";
import { stableParts } from "./model-request.ts";
import type { RunServices } from "./run-services.ts";
import { readSections } from "./sections.ts";
import type { CarriedPrompt } from "#tree";

interface Answer {
  readonly response: ModelResponse;
  /** The model that answered instead of the step's (a fallback), by the key of its price. */
  readonly by?: string | undefined;
  /** The representation of a prompt with a stored conversation. Its size counts for the next one. */
  readonly told?: Omit<CarriedPrompt, "usage"> | undefined;
  /** The labels of a stored conversation in the prompt, if any. */
  readonly brings?: Labels | undefined;
  /** Whether the context is so full that a compaction follows the turn. */
  readonly isDue?: boolean | undefined;
  /** The labels of ephemeral state in the prompt, if any. */
  readonly shown?: Labels | undefined;
  /** The labels of sections in a computed system message, if any. */
  readonly sections?: Labels | undefined;
}

type ModelResult =
  | ({ readonly kind: "answered" } & Answer)
  | { readonly kind: "failed"; readonly error: ErrorData; readonly diagnostic?: Diagnostic | undefined };

/** The request of a model step. */
interface ModelStepCall {
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  readonly options: LlmOptions;
  /** The conversation's first entry in the prompt. Null: none. Absent: it was not read. */
  readonly from?: EntryId | null | undefined;
  /** See `ModelRequest.stable`. */
  readonly stable?: readonly number[] | undefined;
  /** See `ephemeral` of a model call. */
  readonly ephemeral?: readonly ChatMessage[] | undefined;
}

function noModel({ identity }: RunServices): ProgramError {
  const name = JSON.stringify(AgentId.type(identity.agentId));
  const problem = `agent ${name} has no model: set agent({ model }), or pass ctx.llm(messages, { model })`;
  return new ProgramError({ problems: [problem] });
}

/** Makes one model call: through its middleware and the gate, as a separate step. */
export async function llm(
  services: RunServices,
  list: readonly ChatMessage[],
  options: LlmOptions,
): Promise<ModelResponse> {
  const { policy, state } = services;
  const model = options.model ?? policy.model;
  if (!model) throw noModel(services);
  const messages = freezeList(list);
  const step = new GatedStep(services, { kind: "model", subject: "", of: "model" });
  const record = await step.run((execution) => callModel(services, execution, { model, messages, options }));
  if (record.kind === "failed") throw withDiagnostic(decodeError(record.error), record.diagnostic);
  const { response, by, told, brings, shown, sections, isDue = false } = record;
  state.labels.join(sections, "input", "sections");
  state.labels.join(brings, "input", "conversation");
  state.labels.join(shown, "input", "ephemeral");
  state.lastPrompt.system = response.instructions ?? systemText(messages);
  const { tenantId, runId } = services.identity.scope;
  if (response.instructions !== undefined) policy.prompt.sent.set(tenantId, runId, response.instructions);
  if (options.history) state.session.noteContext(response.usage, isDue);
  if (told && response.usage) {
    state.sizes.tell({ ...told, usage: response.usage });
    state.session.noteSize({ hash: told.digest, messages: told.messages, usage: response.usage });
  }
  // The size of a prompt that was sent unchanged counts for the next one, under the model that answered.
  const isKnown = !options.history || !state.session.readsHistory;
  if (isKnown && !response.rewritten && response.instructions === undefined)
    state.sizes.remember(by ?? Price.key(model), { messages, tools: options.tools ?? [] }, response.usage);
  keepWords(services, response);
  return response;
}

/** Maximum characters of a paused run's answer that waiting runs are shown. */
const maxShown = 4_000;

/**
 * Stores the last text of the model for runs that wait through a pause, unless output guardrails must check it first.
 */
function keepWords({ engine, policy, state }: RunServices, { message }: ModelResponse): void {
  const text = ChatMessage.text(message).slice(0, maxShown);
  if (text === "" || policy.launch.guardrailHooks.includes("onOutput")) return;
  engine.driver.outbox.say({ text, labels: state.labels.told });
}

/** Calls the model inside its step. Null: the step must end. */
async function callModel(
  services: RunServices,
  execution: StepExecution,
  call: ModelStepCall,
): Promise<ModelResult | null> {
  const { calls } = execution;
  const answering = call.options.instructions
    ? withInstructions(services, execution, call, call.options.instructions)
    : withHistory(services, execution, call);
  const result = await answering.then(
    (answer) => ({ kind: "answered", ...answer }) as const,
    (error: unknown) => {
      const stopped = calls.findStop();
      const isTheirs = !stopped && !calls.stop && !ReeveError.is(error);
      const source = failedLayer(error) ?? `model ${call.model.id}`;
      const diagnostic = isTheirs ? services.engine.report(source, error) : undefined;
      return { kind: "failed", error: encodeError(stopped ?? error), diagnostic } as const;
    },
  );
  return calls.stop ? null : result;
}

/** Computes the system message inside the step, and keeps it with the answer. */
async function withInstructions(
  services: RunServices,
  execution: StepExecution,
  call: ModelStepCall,
  compute: NonNullable<LlmOptions["instructions"]>,
): Promise<Answer> {
  let sections: Labels | undefined;
  const readAll = async (): Promise<readonly ShownSection[]> => {
    const read = await readSections(services, execution);
    sections = read.labels;
    return read.sections;
  };
  // The labels of a parent's sections came with the task of its copy.
  const instructions =
    sentByParent(services) ??
    (await interceptPrompt(services, execution, await compute({ readSections: readAll })));
  const messages = freezeList([...systemOf(instructions), ...call.messages]);
  const answer = await withHistory(services, execution, { ...call, messages });
  return { ...answer, ...(sections && { sections }), response: { ...answer.response, instructions } };
}

/**
 * Returns the system message of the run that this one is a copy of. Undefined: it is not a copy, or this process does not
 * have the message.
 */
function sentByParent({ identity, policy, state }: RunServices): string | undefined {
  const { parentRunId } = identity.supervision;
  if (!state.session.isCopy || parentRunId === null) return undefined;
  return policy.prompt.sent.get(identity.scope.tenantId, parentRunId);
}

/** Assembles the prompt, and makes the call with it. */
async function withHistory(
  services: RunServices,
  execution: StepExecution,
  call: ModelStepCall,
): Promise<Answer> {
  if (!call.options.history) return answerCall(services, execution, call);
  const { messages, from, labels, isView, past } = await assemblePrompt(services, execution, call);
  const stable = stableParts(messages, past);
  const answer = await answerCall(services, execution, { ...call, messages, from, stable });
  const { response, by } = answer;
  const brings = {
    ...(!Labels.isNone(labels) && { brings: labels }),
    ...(isDueAfter(services, response.usage) && { isDue: true }),
  };
  if (isView) return { ...answer, ...brings, response: { ...response, rewritten: true } };
  if (response.rewritten || from === undefined) return { ...answer, ...brings };
  const sent = { messages, tools: call.options.tools ?? [], from };
  const told = services.state.sizes.learn(by ?? Price.key(call.model), sent, response.usage);
  return { ...answer, ...brings, ...(told && { told }) };
}

async function answerCall(
  services: RunServices,
  execution: StepExecution,
  asked: ModelStepCall,
): Promise<Answer> {
  const isShown = asked.options.history && !services.state.session.isCopy;
  const state = isShown ? await readEphemeral(services, execution) : undefined;
  const call = state ? { ...asked, ephemeral: state.messages } : asked;
  const hasLayers = (services.policy.agent.chat ?? []).length > 0;
  const answer = await (hasLayers ? throughChat(services, execution, call) : respond(execution, call));
  return state?.labels ? { ...answer, shown: state.labels } : answer;
}

async function respond({ calls }: StepExecution, call: ModelStepCall): Promise<Answer> {
  return { response: await calls.make(call) };
}

/** Makes the call through the agent's chat middleware. */
async function throughChat(
  services: RunServices,
  execution: StepExecution,
  call: ModelStepCall,
): Promise<Answer> {
  const { options } = call;
  const { chat = [], retry: agentRetry } = services.policy.agent;
  const { layers, retry } = placeRetry(chat, agentRetry);
  const began = services.engine.primitives.now();
  let answered: Pick<ModelStepCall, "model" | "messages"> = call;
  const context = createChatContext(services, execution, call, (asked) => {
    answered = { model: asked.model, messages: toPrompt(asked) };
  });
  const { systemInstructions: instructions, messages: told, tools: offered } = context;
  let sent: { readonly usage: Usage | null; readonly by: string } | null = null;
  await throughLayers(layers, context, async () => {
    const { systemInstructions, tools, timeoutMs, model } = context;
    const isSame = systemInstructions === instructions && context.messages === told && tools === offered;
    const changed = { ...options, tools, providerOptions: context.options };
    const prompt = isSame ? call.messages : toPrompt(context);
    const from = isSame ? call.from : undefined;
    const stable = isSame ? call.stable : call.stable && stableParts(prompt);
    const { ephemeral } = call;
    const asked = { model, messages: prompt, ephemeral, options: changed, from, stable, retry, timeoutMs };
    const made = await execution.calls.make(asked);
    sent = isSame ? { usage: made.usage && Object.freeze(made.usage), by: Price.key(model) } : null;
    context.result = made;
  });
  const { result } = context;
  if (!result)
    throw new TypeError("chat middleware returned without calling next() or setting context.result");
  await recordAnswer(services, execution, { ...call, ...answered, response: result, began });
  return toStepAnswer(result, sent, Price.key(call.model));
}

/**
 * Returns the answer with the prompt's size. If a layer answers itself, or changes the prompt or the figures, the size
 * is unknown.
 */
function toStepAnswer(
  response: ModelResponse,
  sent: { readonly usage: Usage | null; readonly by: string } | null,
  wanted: string,
): Answer {
  if (!sent || sent.usage !== response.usage) return { response: { ...response, rewritten: true } };
  return { response, ...(sent.by !== wanted && { by: sent.by }) };
}

function systemText([first]: readonly ChatMessage[]): string {
  return first?.role === "system" ? ChatMessage.text(first) : "";
}

function systemOf(instructions: string): readonly ChatMessage[] {
  return instructions === "" ? [] : [ChatMessage.system(instructions)];
}

const toPrompt = ({ systemInstructions, messages }: ChatContext): readonly ChatMessage[] =>
  Object.freeze([...systemOf(systemInstructions), ...messages]);

/**
 * Creates the context of chat middleware. `onAnswer` gets the context when a layer, or the call itself, gives the first
 * answer.
 */
function createChatContext(
  services: RunServices,
  execution: StepExecution,
  call: ModelStepCall,
  onAnswer: (context: ChatContext) => void,
): ChatContext {
  const { messages, options, model } = call;
  const { agentId, scope } = services.identity;
  const hasSystem = messages[0]?.role === "system";
  let answer: ModelResponse | undefined;
  const context: ChatContext = {
    agentName: agentId,
    runId: scope.runId,
    systemInstructions: systemText(messages),
    // Frozen, so that a layer must replace messages or tools to change them: the measured prompt is the sent one.
    messages: hasSystem ? Object.freeze(messages.slice(1)) : messages,
    tools: Object.freeze(options.tools ?? []),
    options: options.providerOptions ?? {},
    model,
    timeoutMs: defaultTimeoutMs,
    get restHash() {
      return hashRest(call);
    },
    get result() {
      return answer;
    },
    set result(given) {
      if (!answer) onAnswer(context);
      answer = given;
    },
    scope: toStepScope(services, execution, model),
  };
  return context;
}

function hashRest({ options, ephemeral = [] }: ModelStepCall): string {
  const { settings, toolChoice, outputSchema, maxOutputTokens, repetition } = options;
  const rest = { settings, toolChoice, outputSchema, maxOutputTokens, repetition, ephemeral };
  return hash("sha256", JSON.stringify(rest), "base64url");
}
