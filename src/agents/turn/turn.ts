import {
  BudgetExhaustedError,
  ChatMessage,
  ContentBlock,
  type Ended,
  type Envelope,
  type GuardrailDecision,
  type Inbox,
  type LlmOptions,
  type MalformedReason,
  type Model,
  type ModelResponse,
  type RunContext,
  type Tool,
  type ToolCallBlock,
  type ToolDescription,
  type ToolResultBlock,
  ToolResult,
} from "#kernel";
import type { LoopDecision, LoopDetection } from "../guardrails/loop-detection.ts";
import { describe } from "../tools/tool.ts";
import { land } from "./landing.ts";

/** Characters of a tool's answer that a model is shown. */
const longestResult = 50_000;

/** What a turn works with. It reads and writes `messages`; nothing is copied. */
export interface TurnState {
  readonly ctx: RunContext;
  readonly inbox: Inbox;
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** The conversation so far, system prompt first. Grows. */
  readonly messages: ChatMessage[];
  readonly loops: LoopDetection;
  readonly maxOutputTokens: number | undefined;
  /** Steps after which the run should go on in a fresh execution. */
  readonly continueAfter: number;
  /** Model calls made so far. */
  cycles: number;
  /** What the provider told of the last prompt: how many messages, how many tokens. */
  reported: LlmOptions["reported"];
}

/** How a turn came out: an answer, the way the run must end, or not yet: it goes on in a fresh execution. */
export type TurnOutcome =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "unfinished" }
  | Ended;

/** One user input until the model has nothing more to do: call, tools, call, tools, answer. */
export async function turn(state: TurnState, input: readonly Envelope[]): Promise<TurnOutcome> {
  const started = state.ctx.guard("turn", input.map(({ text }) => text).join("\n\n"));
  const word = started && (await started);
  const refused = refusalOf(word) ?? (await hear(state, input));
  if (refused) return refused;
  if (word?.kind === "warn") state.messages.push(ChatMessage.user(`Note: ${word.reason}.`));
  return proceed(state);
}

/** The rest of a turn. Between two cycles nothing is open: there it may move to a fresh execution. */
export async function proceed(state: TurnState): Promise<TurnOutcome> {
  const began = state.cycles;
  for (;;) {
    if (state.ctx.steps >= state.continueAfter && state.cycles > began) return { kind: "unfinished" };
    const steering = state.inbox.steering();
    const refused = steering.length > 0 ? await hear(state, steering) : null;
    if (refused) return refused;
    const step = ++state.cycles;
    state.ctx.note("cycle.start", { step });
    const outcome = await cycle(state);
    state.ctx.note("cycle.end", { step });
    if (outcome) return outcome;
  }
}

/** One model call plus its tools. Null: there is more to do. */
async function cycle(state: TurnState): Promise<TurnOutcome | null> {
  const { ctx, messages } = state;
  let response: ModelResponse;
  try {
    response = await ctx.llm(messages, {
      tools: describeAll(state.tools),
      reported: state.reported,
      ...(state.maxOutputTokens !== undefined && { maxOutputTokens: state.maxOutputTokens }),
    });
  } catch (error) {
    if (error instanceof BudgetExhaustedError) return land(state, error);
    throw error;
  }
  if (response.shrunk && response.finishReason === "length") {
    messages.push(withoutCalls(response.message));
    const output = ChatMessage.text(response.message);
    return { kind: "ended", status: "landed", stopReason: `budget.${response.shrunk}`, output };
  }
  if (response.rewritten) state.reported = undefined;
  else if (response.usage) state.reported = { messages: messages.length, usage: response.usage };
  messages.push(response.message);
  const calls = callsOf(response.message);
  return calls.length === 0 ? answerOf(state, response.message) : callTools(state, calls);
}

/** No more calls: an answer, unless somebody has said more meanwhile. */
function answerOf(state: TurnState, message: ChatMessage): TurnOutcome | Promise<Ended | null> {
  const more = [...state.inbox.steering(), ...state.inbox.followUps()];
  if (more.length > 0) return hear(state, more);
  return { kind: "answer", text: ChatMessage.text(message) };
}

/** Takes words in, as far as the guardrails let them pass. */
async function hear({ ctx, messages }: TurnState, said: readonly Envelope[]): Promise<Ended | null> {
  for (const { text } of said) {
    const guarded = ctx.guard("input", text);
    const word = guarded && (await guarded);
    const refused = refusalOf(word);
    if (refused) return refused;
    messages.push(ChatMessage.user(word?.kind === "warn" ? `${text}\n\nNote: ${word.reason}.` : text));
  }
  return null;
}

/** What was not let in ends the run: nobody has asked a model yet who could be told. */
function refusalOf(word: GuardrailDecision | null): Ended | null {
  return word?.kind === "block" ? stoppedBy("input", word.reason) : null;
}

/** The end of a run that a guardrail has stopped. */
export function stoppedBy(what: string, reason: string): Ended {
  const error = { code: "guardrail", guardrail: what, reason, message: `${what}: ${reason}` };
  return { kind: "ended", status: "failed", stopReason: "guardrail", output: null, error };
}

/** All calls of a batch at once; their results go back in the order of the calls. */
async function callTools(state: TurnState, calls: readonly ToolCallBlock[]): Promise<TurnOutcome | null> {
  const { ctx, loops, messages } = state;
  const decisions = calls.map(({ name, input }) => loops.before(name, input));
  const halt = decisions.find(({ kind }) => kind === "halt");
  if (halt && halt.kind === "halt") return halted(state, calls, halt.reason);
  const results = await Promise.all(calls.map((call, index) => callOne(ctx, call, decisions[index])));
  const content = calls.map((call, index): ToolResultBlock => {
    const result = results[index] ?? ToolResult.failure("no result");
    const readOnly = state.tools.find(({ name }) => name === call.name)?.risk === "safe";
    const after = loops.after(call.name, call.input, result, { readOnly });
    return resultBlock(call, result, after);
  });
  messages.push({ role: "tool", content });
  return null;
}

function callOne(
  ctx: RunContext,
  call: ToolCallBlock,
  decision: LoopDecision | undefined,
): Promise<ToolResult> {
  if (call.malformedInput !== undefined) {
    const why = wrongs[call.malformedBecause ?? "not-json"];
    const failure = ToolResult.failure(`not called: the arguments ${why}: ${call.malformedInput}`);
    return Promise.resolve(failure);
  }
  if (decision?.kind === "block")
    return Promise.resolve(ToolResult.failure(`not called: ${decision.reason}; try something else`));
  return ctx.tool(call.name, call.input, { callId: call.callId });
}

const wrongs: Readonly<Record<MalformedReason, string>> = {
  "not-json": "are not JSON",
  "too-large": "are larger than 1 MB",
  "too-deep": "are nested more than 64 levels deep",
  "poisoned-key": "have a key __proto__",
  "duplicate-key": "have the same key twice",
  "broken-text": "hold half a character",
};

function halted({ ctx, messages }: TurnState, calls: readonly ToolCallBlock[], reason: string): Ended {
  ctx.note("guardrail.trip", { guardrail: "loop-detection", reason, decision: "halt" });
  // The transcript never ends on a call without its result.
  messages.push({
    role: "tool",
    content: calls.map((call) => resultBlock(call, ToolResult.failure(`not called: ${reason}`))),
  });
  return stoppedBy("loop-detection", reason);
}

function resultBlock(call: ToolCallBlock, result: ToolResult, after?: LoopDecision): ToolResultBlock {
  const { callId, name } = call;
  const content = result.content.map(bounded);
  const warned = after?.kind === "warn" ? [...content, ContentBlock.text(`Note: ${after.reason}.`)] : content;
  return { type: "tool-result", callId, name, content: warned, isError: result.isError };
}

function bounded(block: ContentBlock): ContentBlock {
  if (block.type !== "text" || block.text.length <= longestResult) return block;
  const left = block.text.length - longestResult;
  return ContentBlock.text(`${block.text.slice(0, longestResult)}\n[${left} more characters left out]`);
}

const callsOf = (message: ChatMessage): readonly ToolCallBlock[] =>
  message.content.filter((block): block is ToolCallBlock => block.type === "tool-call");

/** An answer that was cut may hold calls that were cut: they are never executed. */
const withoutCalls = (message: ChatMessage): ChatMessage => ({
  ...message,
  content: message.content.filter(({ type }) => type !== "tool-call"),
});

/** The same list for the same tools: described once, measured once. */
function describeAll(tools: readonly Tool[]): readonly ToolDescription[] {
  const known = lists.get(tools);
  if (known) return known;
  const fresh = tools.map(describe);
  lists.set(tools, fresh);
  return fresh;
}

const lists = new WeakMap<readonly Tool[], readonly ToolDescription[]>();
