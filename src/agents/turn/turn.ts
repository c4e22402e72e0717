// The loop of `agent()`: one turn.
//
// Job: take an input, then repeat cycles (a model call and its tools) until there is an answer, a handoff or an end.
// Neighbours: agent.ts begins turns and saves them; answer.ts checks answers; landing.ts ends a run without budget;
// lead.ts runs an architecture instead of the loop; loop-detection stops repetition. All effects go through `ctx`.
//
// Invariants:
// 1. Every tool call of a response gets a result, in the order of the calls, before the next model call.
// 2. Calls of a truncated or repetitive response are never executed.
// 3. Steering is taken between two cycles and before an answer, after extensions and guardrails.
// 4. A turn moves to a fresh execution only between two cycles, where nothing is open.

import {
  BudgetExhaustedError,
  ChatMessage,
  ContentBlock,
  type Ended,
  type Envelope,
  type GuardrailDecision,
  type LlmOptions,
  type MalformedReason,
  type ModelResponse,
  type Tool,
  type ToolCallBlock,
  type ToolDescription,
  type ToolResultBlock,
  ToolResult,
} from "#kernel";
import { findHandoff, handoffInput, handoffOf } from "../handoffs/handoff.ts";
import type { LoopDecision } from "../guardrails/loop-detection.ts";
import { describeTool } from "../tools/tool.ts";
import { repairRepeated, Repairs, settleAnswer, stoppedBy } from "./answer.ts";
import { land, landCut } from "./landing.ts";
import { leadTurn } from "./lead.ts";
import { withRoom } from "./make-room.ts";
import { appendMessage } from "./say.ts";
import type { HandoffOutcome, TurnOutcome, TurnState } from "./turn-state.ts";
import { readableText, userMessage } from "./user-message.ts";

/** Maximum characters of a tool result that a model is shown. */
const maxResultCharacters = 50_000;

/**
 * Begins a turn: one user input. `taken`: the messages of a conversation that the run takes over. Null: none. Returns
 * the end of the run. Null: the turn continues.
 */
export async function beginTurn(
  state: TurnState,
  input: readonly Envelope[],
  taken: readonly ChatMessage[] | null,
): Promise<Ended | null> {
  state.repairs = Repairs.none;
  state.summary = null;
  const unchecked = taken ? takeOver(state, input, taken) : input;
  state.begins = unchecked.map(readableText).join("\n\n");
  const checking = state.ctx.checkGuardrails("turn", state.begins);
  const decision = checking && (await checking);
  const stopped = refusalOf(decision);
  if (stopped) return stopped;
  const inputs = taken ? unchecked : await interceptInputs(state, unchecked);
  state.begins = inputs.map(readableText).join("\n\n");
  const refused = await takeMessages(state, inputs, taken !== null);
  if (refused) return refused;
  if (decision?.kind === "warn") appendMessage(state, ChatMessage.user(`Note: ${decision.reason}.`));
  return null;
}

/**
 * Puts the messages of a conversation before those of the run. Returns those that its guardrails have not seen yet: the
 * last message of the user, and the note of the agent that hands off.
 */
function takeOver(
  { messages }: TurnState,
  input: readonly Envelope[],
  taken: readonly ChatMessage[],
): readonly Envelope[] {
  const last = taken.findLast(({ role }) => role === "user");
  const text = last ? ChatMessage.text(last) : "";
  messages.push(...taken);
  for (const { text: note } of input) if (note !== "") messages.push(ChatMessage.user(note));
  return input.map((envelope) =>
    Object.assign({}, envelope, {
      text: [text, envelope.text].filter((part) => part !== "").join("\n\n"),
      data: undefined,
    }),
  );
}

/** Runs a turn that has begun: by the agent's architecture if it has one, else by cycles until there is an answer. */
export function leadOrProceed(state: TurnState): Promise<TurnOutcome> {
  const { lead, begins: prompt } = state;
  return lead ? leadTurn(state, { lead, prompt: prompt ?? "", proceed }) : proceed(state);
}

/** Runs the rest of a turn. Between two cycles nothing is open, so it may move to a fresh execution there. */
export async function proceed(state: TurnState): Promise<TurnOutcome> {
  const began = state.cycles;
  for (;;) {
    // The position of an architecture in its code is not data, so it cannot be carried over.
    const mayMove = !state.lead && state.cycles > began;
    if (mayMove && state.ctx.journalLength >= state.continueAfter) return { kind: "unfinished" };
    const steering = state.inbox.takeSteering();
    const refused = steering.length > 0 ? await takeSteering(state, steering) : null;
    if (refused) return refused;
    const step = ++state.cycles;
    state.ctx.record("cycle.start", { step });
    const outcome = await cycle(state);
    state.ctx.record("cycle.end", { step });
    if (outcome) return outcome;
  }
}

/** Runs one model call and its tools. Null: there is more to do. */
async function cycle(state: TurnState): Promise<TurnOutcome | null> {
  let response: ModelResponse;
  try {
    response = await callModel(state);
  } catch (error) {
    if (error instanceof BudgetExhaustedError) return land(state, error);
    throw error;
  }
  if (response.repeated !== undefined) {
    appendMessage(state, withoutCalls(response.message));
    return repairRepeated(state, response.repeated);
  }
  if (response.shrunk && response.finishReason === "length") {
    appendMessage(state, withoutCalls(response.message));
    return landCut(state, response.shrunk);
  }
  appendMessage(state, response.message);
  const calls = callsOf(response.message);
  const text = ChatMessage.text(response.message);
  return calls.length === 0 ? endWithAnswer(state, text) : callTools(state, calls, text);
}

/** Calls the model. The first call of a turn computes the instructions: their text is kept for the turn. */
async function callModel(state: TurnState): Promise<ModelResponse> {
  const { ctx, messages, output, toolChoice, maxOutputTokens, begins, instructions } = state;
  const compute: LlmOptions["instructions"] =
    begins !== null && instructions ? (call) => instructions(begins, call) : undefined;
  const isChosen = toolChoice && (begins !== null || toolChoice === "none") && state.tools.length > 0;
  const options: LlmOptions = {
    ...state.request,
    tools: describeAll(state.tools),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(output?.native && { outputSchema: output.jsonSchema }),
    ...(isChosen && { toolChoice }),
    ...(compute && { instructions: compute }),
    history: true,
    repetition: state.loops.sameText,
  };
  const response = await withRoom(state, () =>
    ctx.llm(compute ? withoutSystem(messages) : messages, options),
  );
  state.begins = null;
  if (response.instructions !== undefined) {
    const system = response.instructions === "" ? [] : [ChatMessage.system(response.instructions)];
    messages.splice(0, messages.length - withoutSystem(messages).length, ...system);
  }
  return response;
}

const withoutSystem = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  messages[0]?.role === "system" ? messages.slice(1) : messages;

/** Returns the answer, unless steering has arrived. Follow-ups are separate turns. */
function endWithAnswer(state: TurnState, text: string): Promise<TurnOutcome | null> {
  const steering = state.inbox.takeSteering();
  return steering.length > 0 ? takeSteering(state, steering) : settleAnswer(state, text);
}

/** Adds steering messages to the turn, after the extensions' changes. */
async function takeSteering(state: TurnState, steering: readonly Envelope[]): Promise<Ended | null> {
  return takeMessages(state, await interceptInputs(state, steering));
}

/** Returns inputs with the extensions' changes to their texts. */
async function interceptInputs(
  { ctx }: TurnState,
  inputs: readonly Envelope[],
): Promise<readonly Envelope[]> {
  const changed: Envelope[] = [];
  for (const message of inputs) {
    const changing = ctx.interceptInput(message.text);
    changed.push(changing ? { ...message, text: await changing } : message);
  }
  return changed;
}

/** Adds messages that the guardrails allow to the turn. `isKnown`: the turn already has the messages. */
async function takeMessages(
  state: TurnState,
  inputs: readonly Envelope[],
  isKnown = false,
): Promise<Ended | null> {
  for (const message of inputs) {
    const checking = state.ctx.checkGuardrails("input", readableText(message));
    const decision = checking && (await checking);
    const refused = refusalOf(decision);
    if (refused) return refused;
    const note = decision?.kind === "warn" ? decision.reason : null;
    if (!isKnown) appendMessage(state, userMessage(message, note));
    else if (note !== null) appendMessage(state, ChatMessage.user(`Note: ${note}.`));
  }
  return null;
}

/** Returns the end of the run for a blocked input, which no model has seen. Null: the input is not blocked. */
function refusalOf(decision: GuardrailDecision | null): Ended | null {
  return decision?.kind === "block" ? stoppedBy("input", decision.reason) : null;
}

/** Makes all tool calls of a response concurrently, and appends their results in the order of the calls. */
async function callTools(
  state: TurnState,
  calls: readonly ToolCallBlock[],
  said: string,
): Promise<TurnOutcome | null> {
  const { ctx, loops } = state;
  const decisions = calls.map(({ name, input }) => loops.checkCall(name, input));
  const halt = decisions.find(({ kind }) => kind === "halt");
  if (halt && halt.kind === "halt") return endHalted(state, calls, halt.reason);
  for (const decision of decisions) if (decision.kind === "block") ctx.reportLoop("block", decision.reason);
  const handoffIndex = findHandoff(calls, state.tools);
  const results = await Promise.all(
    calls.map((call, index) => {
      const isSecond = handoffIndex >= 0 && handoffIndex < index && isHandoff(state, call);
      return isSecond ? Promise.resolve(secondHandoff) : callOne(state, call, decisions[index]);
    }),
  );
  const content = calls.map((call, index): ToolResultBlock => {
    const result = results[index] ?? ToolResult.failure("no result");
    if (decisions[index]?.kind === "block") {
      loops.countBlocked(call.name, call.input);
      return resultBlock(call, result);
    }
    const readOnly = state.tools.find(({ name }) => name === call.name)?.risk === "safe";
    const after = loops.countResult(call.name, call.input, { result, readOnly });
    if (after.kind === "warn") ctx.reportLoop("warn", after.reason);
    return resultBlock(call, result, after);
  });
  appendMessage(state, { role: "tool", content });
  const handedOff = await handOff(state, calls[handoffIndex], results[handoffIndex]);
  if (handedOff) return handedOff.kind === "handoff" ? { ...handedOff, said } : handedOff;
  const isLast = results.every(({ terminate }) => terminate);
  return isLast ? endWithAnswer(state, results.map(toResultText).join("\n\n")) : null;
}

const secondHandoff = ToolResult.failure(
  "not called: the conversation is handed over to one agent at a time",
);

const isHandoff = ({ tools }: TurnState, call: ToolCallBlock): boolean => findHandoff([call], tools) === 0;

/** Ends the agent's part of the turn if its handoff call was allowed. Steering goes to the next agent. */
async function handOff(
  state: TurnState,
  call: ToolCallBlock | undefined,
  result: ToolResult | undefined,
): Promise<Omit<HandoffOutcome, "said"> | Ended | null> {
  const made = call && handoffOf(state.tools.find(({ name }) => name === call.name));
  if (!made || !result || result.isError) return null;
  const refused = await takeSteering(state, state.inbox.takeSteering());
  return refused ?? { kind: "handoff", handoff: made, input: handoffInput(result) };
}

const toResultText = ({ content }: ToolResult): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");

function callOne(
  { ctx, tools }: TurnState,
  call: ToolCallBlock,
  decision: LoopDecision | undefined,
): Promise<ToolResult> {
  // The agent may have private tools, which its model must not call.
  if (!tools.some(({ name }) => name === call.name))
    return Promise.resolve(ToolResult.failure(`there is no tool ${call.name}`));
  if (call.malformedInput !== undefined) {
    const why = malformedTexts[call.malformedBecause ?? "not-json"];
    const failure = ToolResult.failure(`not called: the arguments ${why}: ${call.malformedInput}`);
    return Promise.resolve(failure);
  }
  if (decision?.kind === "block")
    return Promise.resolve(ToolResult.failure(`not called: ${decision.reason}; try something else`));
  return ctx.tool(call.name, call.input, { callId: call.callId });
}

const malformedTexts: Readonly<Record<MalformedReason, string>> = {
  "not-json": "are not JSON",
  "too-large": "are larger than 1 MB",
  "too-deep": "are nested more than 64 levels deep",
  "too-many-keys": "have more than 10,000 keys",
  "poisoned-key": "have a key __proto__",
  "duplicate-key": "have the same key twice",
  "broken-text": "have half of a surrogate pair",
  "inexact-number": "have a number that is too large to be stored exactly: write it as a string",
};

function endHalted(state: TurnState, calls: readonly ToolCallBlock[], reason: string): Ended {
  // The transcript never ends with a call without its result.
  appendMessage(state, {
    role: "tool",
    content: calls.map((call) => resultBlock(call, ToolResult.failure(`not called: ${reason}`))),
  });
  return stoppedBy("loop-detection", reason);
}

function resultBlock(call: ToolCallBlock, result: ToolResult, after?: LoopDecision): ToolResultBlock {
  const { callId, name } = call;
  const content = result.content.map(boundBlock);
  const warned = after?.kind === "warn" ? [...content, ContentBlock.text(`Note: ${after.reason}.`)] : content;
  return { type: "tool-result", callId, name, content: warned, isError: result.isError };
}

function boundBlock(block: ContentBlock): ContentBlock {
  if (block.type !== "text" || block.text.length <= maxResultCharacters) return block;
  const left = block.text.length - maxResultCharacters;
  return ContentBlock.text(`${block.text.slice(0, maxResultCharacters)}\n[${left} more characters left out]`);
}

const callsOf = (message: ChatMessage): readonly ToolCallBlock[] =>
  message.content.filter((block): block is ToolCallBlock => block.type === "tool-call");

/** Returns a truncated answer without its calls: they may be truncated, so they are never executed. */
const withoutCalls = (message: ChatMessage): ChatMessage => ({
  ...message,
  content: message.content.filter(({ type }) => type !== "tool-call"),
});

/** Returns the descriptions of tools. The same list for the same tools, so that it is created and measured once. */
function describeAll(tools: readonly Tool[]): readonly ToolDescription[] {
  const known = lists.get(tools);
  if (known) return known;
  const fresh = tools.map(describeTool);
  lists.set(tools, fresh);
  return fresh;
}

const lists = new WeakMap<readonly Tool[], readonly ToolDescription[]>();
