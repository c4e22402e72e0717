import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  CancellationError,
  type ChatMessage,
  checkDuration,
  type Agent,
  type Architecture,
  type AgentPolicy,
  type Continuation,
  type Ended,
  type Envelope,
  type EphemeralSource,
  type ExecutionBudget,
  type Extension,
  type Guardrail,
  type AgentSpec,
  type HistoryProvider,
  type HistoryRetention,
  type Hooks,
  type Inbox,
  type Input,
  Json,
  type Jsonified,
  type JsonObject,
  type MiddlewareSet,
  type Model,
  type ModelRetry,
  type ModelSettings,
  type Permissions,
  type Priority,
  type PromptSection,
  type RunContext,
  type Tool,
  type ToolChoice,
  type TypedInput,
} from "#kernel";
import { valueText } from "#base";
import type { AnyModel } from "#models";
import { toCompactionPolicy, type CompactionOptions } from "./compaction-options.ts";
import { checkSection } from "./extensions/extension.ts";
import { noteRebuild, ownExtensions, keepUnexpanded, type Expand } from "./extensions/extend-agent.ts";
import { takeApart, type JoinedParts } from "./extensions/take-apart.ts";
import { activeAgent } from "./handoffs/active-agent.ts";
import { handoffTools, type HandoffEntry } from "./handoffs/handoff.ts";
import { checkMaxHandoffs } from "./handoffs/pass-control.ts";
import { Pass } from "./handoffs/pass.ts";
import { planHandoffs, takeTurn, type HandoffPlan } from "./handoffs/take-turn.ts";
import { LoopDetection, type LoopLimits, type LoopCounts } from "./guardrails/loop-detection.ts";
import { modelOrMissing } from "./missing-model.ts";
import { allowAll } from "./permissions/permissions.ts";
import { computePrompt, systemPrompt, type Instructions } from "./prompt/instructions.ts";
import { inputSchemaOf } from "./task-input.ts";
import { teamTools, type TeamMember } from "./team.ts";
import type { AiSdkTool } from "./tools/ai-sdk-tools.ts";
import { noteOwnTools, ownTools } from "./tools/own-tools.ts";
import { checkEnd, Repairs } from "./turn/answer.ts";
import { unguardedText } from "./turn/landing.ts";
import { compactAfterTurn } from "./turn/make-room.ts";
import { checkReview, reviewAfterTurn, type ReviewOptions } from "./turn/review.ts";
import { OutputForm } from "./turn/structured-output.ts";
import type { TurnState } from "./turn/turn-state.ts";

/** The definition of an agent. `Output`: the type of its output schema; text without one. */
export interface AgentOptions<Output = string, Data = undefined> {
  readonly name: string;
  /** A description that a parent's model reads when it chooses a child. */
  readonly description?: string | undefined;
  /** Any AI SDK language model, or a custom model. */
  readonly model: AnyModel;
  /**
   * The system message: a text, or a function that is called in the first model step of each turn. Its text is recorded
   * with the step and kept for the turn. Default: none.
   */
  readonly instructions?: string | Instructions | undefined;
  /**
   * Temperature, reasoning and other settings. They override those of `languageModel(model, { settings })`. Default:
   * none.
   */
  readonly settings?: ModelSettings | undefined;
  /** Provider options, by provider. They override those of the model. Default: none. */
  readonly providerOptions?: JsonObject | undefined;
  /**
   * The rule for tool calls. `required` and `{ tool }` apply to the first call of a turn: afterwards the model may
   * answer. Default: auto.
   */
  readonly toolChoice?: ToolChoice | undefined;
  /** Tools of `tool()`, or AI SDK tool objects by name. */
  readonly tools?: readonly Tool[] | Readonly<Record<string, AiSdkTool>> | undefined;
  /** The agents that it may spawn. The model sees one tool `ask_<name>` for each. */
  readonly team?: readonly (AgentSpec | TeamMember)[] | undefined;
  /**
   * The agents that it may hand the conversation to. The model sees one tool `handoff_to_<name>` for each. The agent
   * that takes over answers, and begins the next turn. `handoff(agent, { filter })` sets options. Default: none.
   */
  readonly handoffs?: readonly HandoffEntry[] | undefined;
  /** Maximum handoffs in one turn. After the last one the run lands with the best answer. Default: 10. */
  readonly maxHandoffs?: number | undefined;
  /**
   * The architecture that leads its workers: one of `reeve/architectures`, a flow, or a custom one. Default: its model
   * decides, call by call.
   */
  readonly architecture?: Architecture | undefined;
  /** Budget of each of its runs, including descendants. Default: no limits of its own. */
  readonly budget?: ExecutionBudget | undefined;
  /**
   * The schema of its input data, an object. `start`, `ask_<name>` and `handoff_to_<name>` check it before a run
   * starts. Default: any input.
   */
  readonly input?: StandardSchemaV1<Data> | undefined;
  /** The schema of its answer, which is validated. Default: text. */
  readonly output?: StandardSchemaV1<unknown, Output> | undefined;
  /** Maximum output tokens of one call. Default: the model's limit. */
  readonly maxOutputTokens?: number | undefined;
  readonly middleware?: MiddlewareSet | undefined;
  readonly hooks?: Hooks | undefined;
  /** Rules that decide about tool calls. Default: safe tools run, all other tools are refused. */
  readonly permissions?: Permissions | "allow-all" | undefined;
  /** Checks of input, output and tool calls. They run after the runtime's guardrails. Default: none. */
  readonly guardrails?: readonly Guardrail[] | undefined;
  readonly retry?: ModelRetry | undefined;
  /**
   * Rules that keep its conversations within the model's context. Default: a conversation that is too long is
   * summarized after the turn, and a prompt that is too long before it is sent. False: only the newest part that fits
   * is sent.
   */
  readonly compaction?: CompactionOptions | false | undefined;
  /** Source of the messages before a turn. Such a conversation is not summarized in the store. Default: the store. */
  readonly history?: HistoryProvider | undefined;
  /** State that the model is shown last in every call, such as an open page. It is not stored. Default: none. */
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
  /** The agent's files: `profile(folder)` of `reeve/profile`. It counts as the first extension. Default: none. */
  readonly profile?: Extension | undefined;
  /**
   * Parts of the system prompt, after the instructions. With any list, even an empty one, the prompt has a hint for the
   * request's channel, and a footer with the date, the working directory and the session. Default: none.
   */
  readonly sections?: readonly PromptSection[] | undefined;
  /** Bundles of tools, hooks, middleware, guardrails and more. Their parts join those of the agent. Default: none. */
  readonly extensions?: readonly Extension[] | undefined;
  /**
   * A review after every `every` turns: a copy of the agent gets a task, for example to write notes about the
   * conversation. It sees the conversation, and is part of the turn's tree and its budget. Default: never.
   */
  readonly review?: ReviewOptions | undefined;
  /** Limits that stop a repetitive agent. */
  readonly loopLimits?: LoopLimits | undefined;
  readonly retention?: HistoryRetention | undefined;
  readonly priority?: Priority | undefined;
  readonly version?: string | undefined;
  /** Maximum restarts of a crashed run. Default: the runtime's. */
  readonly maxRestarts?: number | undefined;
  /**
   * Number of journal entries after which a run continues in a fresh execution. A crash replays at most that many.
   * Default: 2,000.
   */
  readonly continueAfter?: number | undefined;
}

/** The definition of an agent whose architecture calls no model of its own. */
export interface LedAgentOptions<Output = string, Data = undefined> extends Omit<
  AgentOptions<Output, Data>,
  "model"
> {
  readonly model?: AnyModel | undefined;
  readonly architecture: Architecture;
}

type GivenOptions<Output, Data> = AgentOptions<Output, Data> | LedAgentOptions<Output, Data>;

const defaultContinueAfter = 2_000;

/** An agent made by `agent()`. Its options stay readable, so that one can be made from another. */
export interface BuiltAgent<Output = string, Task = Input>
  extends Agent<Output, Task>, Omit<AgentOptions<Output>, keyof Agent> {
  readonly model: Model;
  /** Its own tools, then those for its team, those of its extensions, and the private ones of its architecture. */
  readonly tools: readonly Tool[];
  /** Parts of its extensions that were left out, each with the reason. */
  readonly problems: readonly string[];
}

/**
 * Defines an agent that calls a model and tools, and spawns its team. With `output: schema` its answer is validated
 * data, and `start`, `result`, `ask` and `join` know its type.
 */
export function agent<Output = string, Data = undefined>(
  options: LedAgentOptions<Output, Data>,
): BuiltAgent<Jsonified<Output>, TaskFor<Data>>;
export function agent<Output = string, Data = undefined>(
  options: AgentOptions<Output, Data>,
): BuiltAgent<Jsonified<Output>, TaskFor<Data>>;
export function agent<Output = string, Data = undefined>(
  given: GivenOptions<Output, Data>,
): BuiltAgent<Jsonified<Output>, TaskFor<Data>> {
  const built = build(given, keepUnexpanded);
  noteRebuild(built, { ...given, build: (expand) => Json.as<Agent>(Json.of(build(given, expand))) });
  return Json.as(Json.of(built));
}

/** Builds an agent with its extensions, and with those that `expand` adds. */
function build<Output, Data>(given: GivenOptions<Output, Data>, expand: Expand): BuiltAgent<unknown> {
  const options: AgentOptions<Output, Data> = { ...given, model: modelOrMissing(given.model) };
  const model = modelOrMissing(options.model);
  const own = ownTools(options.tools);
  const parts = takeApart(expand(ownExtensions(options)), {
    ...options,
    tools: [
      ...own,
      ...teamTools(options.team ?? []),
      ...handoffTools(options.handoffs ?? []),
      ...(options.architecture?.tools ?? []),
    ],
  });
  const { tools: listed, problems } = parts;
  const hidden = privateTools(options);
  const tools = hidden.length === 0 ? listed : [...listed, ...hidden];
  if (options.review) checkReview(options.review);
  checkMaxHandoffs(options.maxHandoffs);
  if (options.input) inputSchemaOf(options.name, options.input);
  for (const section of options.sections ?? []) checkSection(section);
  noteOwnTools(tools, own);
  const output = options.output && OutputForm.of(options.name, options.output, model);
  const hasSections = options.sections !== undefined || parts.sections.length > 0;
  const hasPromptHandler = parts.interceptions.some(({ on }) => on.beforeAgentStart !== undefined);
  const definition: Definition = { options, model, tools: listed, output, hasSections, hasPromptHandler };
  const built: BuiltAgent<unknown> = {
    ...options,
    id: AgentId.of(options.name),
    model,
    tools,
    problems: problems.map(({ extension, message }) => `extension ${extension}: ${message}`),
    // The team's tools are built again from `team` when an agent is made from this one.
    team: options.team,
    policy: policyOf(options, parts, hasSections),
    run: (ctx: RunContext, inbox: Inbox) => run(definition, ctx, inbox),
  };
  return Object.freeze(built);
}

/** The task type of an agent: any input, or the data of its input schema. */
type TaskFor<Data> = unknown extends Data ? Input : [Data] extends [undefined] ? Input : TypedInput<Data>;

interface Definition {
  readonly options: AgentOptions<unknown, unknown>;
  readonly model: Model;
  /** The tools that its model sees. */
  readonly tools: readonly Tool[];
  readonly output: OutputForm | undefined;
  readonly hasSections: boolean;
  /** Whether an extension may replace the system prompt. If so, it is computed in the first call of each turn. */
  readonly hasPromptHandler: boolean;
}

/** Returns the tools that only the agent's code calls. */
function privateTools({ architecture, handoffs = [] }: AgentOptions<unknown, unknown>): readonly Tool[] {
  const own = architecture?.privateTools ?? [];
  return handoffs.length === 0 ? own : [...new Set([...own, ...activeAgent.tools])];
}

function policyOf(
  { permissions, retry, compaction, history }: AgentOptions<unknown, unknown>,
  { hooks, middleware, guardrails, ephemeral, sections, onSaved, interceptions, problems }: JoinedParts,
  hasSections: boolean,
): AgentPolicy {
  checkDuration("baseMs", retry?.baseMs ?? 0);
  for (const { timeoutMs = 0 } of ephemeral ?? []) checkDuration("timeoutMs", timeoutMs);
  const decides = permissions === "allow-all" ? allowAll : permissions;
  const policy = { hooks, retry, guardrails, permissions: decides, history, ephemeral, onSaved };
  const prompt = hasSections ? { sections } : {};
  const extended = { interceptions, problems };
  return { ...middleware, ...policy, ...prompt, ...extended, compaction: toCompactionPolicy(compaction) };
}

/** The state that a run carries into a fresh execution, in the middle of a turn or between two. */
interface Unfinished {
  readonly turn: number;
  /** Null between two turns. */
  readonly input: readonly Envelope[] | null;
  readonly output: Json;
  readonly cycles: number;
  readonly repairs: Repairs;
  readonly messages: ChatMessage[];
  readonly summary?: string | null;
  readonly noticed: LoopCounts;
}

function leadOf({
  architecture,
  name,
  instructions,
  budget,
}: AgentOptions<unknown, unknown>): TurnState["lead"] {
  if (!architecture) return undefined;
  const text = typeof instructions === "string" ? instructions : "";
  return { architecture, name, instructions: text, maxTurns: budget?.maxTurns ?? null };
}

/** Answers messages until none is left. A run that is cancelled, or out of time, keeps the last text of its model. */
async function run(
  definition: Definition,
  ctx: RunContext,
  inbox: Inbox,
): Promise<Json | Ended | Continuation> {
  const { options, model, tools, output: form } = definition;
  const { settings, providerOptions } = options;
  const before = ctx.state === null ? null : Json.as<Unfinished>(ctx.state);
  const state: TurnState = {
    ctx,
    inbox,
    model,
    tools,
    messages: before?.messages ?? systemPrompt(definition),
    output: form,
    request: { ...(settings && { settings }), ...(providerOptions && { providerOptions }) },
    toolChoice: options.toolChoice,
    review: options.review,
    instructions: computePrompt(definition, ctx),
    loops: new LoopDetection(options.loopLimits, before?.noticed),
    maxOutputTokens: options.maxOutputTokens,
    lead: leadOf(options),
    continueAfter: options.continueAfter ?? defaultContinueAfter,
    cycles: before?.cycles ?? 0,
    repairs: before?.repairs ?? Repairs.none,
    begins: null,
    summary: before?.summary ?? null,
  };
  try {
    return await answerMessages(state, planHandoffs(options), before);
  } catch (error) {
    if (error instanceof CancellationError && !options.output) return unguardedText(state);
    throw error;
  }
}

/** Answers messages. Every message is a turn. The last answer is the run's output. */
async function answerMessages(
  state: TurnState,
  plan: HandoffPlan,
  before: Unfinished | null,
): Promise<Json | Ended | Continuation> {
  const { ctx, inbox } = state;
  let output: Json = before?.output ?? null;
  for (let number = before?.turn ?? 1; ; number++) {
    const resumed = before?.turn === number && before.input ? before : null;
    const isFirst = number === (before?.turn ?? 1);
    if (!isFirst && ctx.journalLength >= state.continueAfter)
      return continueTurns(state, { turn: number, input: null, output }, ctx);
    const input = resumed?.input ?? (await nextInput(inbox));
    if (input.length === 0) return output;
    if (!resumed) ctx.record("turn.start", { turn: number });
    const outcome = await takeTurn(state, plan, { input, isResumed: resumed !== null });
    if (outcome.kind === "unfinished") {
      return continueTurns(state, { turn: number, input, output }, ctx);
    }
    const ended = outcome.kind === "ended" ? await checkEnd(ctx, outcome) : null;
    // The tree settles a turn without an answer.
    if (!ended || (ended.status === "landed" && ended.output !== null)) await saveTurn(state);
    ctx.record("turn.end", { turn: number });
    if (ended) {
      if (ended.status === "landed") await reply(ctx, input, ended.output);
      return ended;
    }
    output = outcome.kind === "answer" ? outcome.value : output;
    await reply(ctx, input, output);
    if (!(await reviewAfterTurn(ctx, state.review)) || !(await compactAfterTurn(state))) return output;
  }
}

/** Saves the turn. The next turn reads the messages of a stored conversation from the store. */
async function saveTurn({ ctx, messages }: TurnState): Promise<void> {
  const leaf = await ctx.session.save();
  if (leaf !== null) messages.splice(messages[0]?.role === "system" ? 1 : 0);
}

/** Continues in a fresh execution. */
function continueTurns(
  { cycles, repairs, messages, summary, loops }: TurnState,
  place: Pick<Unfinished, "turn" | "input" | "output">,
  ctx: RunContext,
): Continuation {
  const rest: Unfinished = { ...place, cycles, repairs, messages, summary, noticed: loops.noticed };
  return ctx.continueAs(Json.of(rest));
}

/**
 * Returns the input of the next turn: the next message, else steering that came too late for the last turn, else the
 * oldest follow-up. Empty: there is none.
 */
async function nextInput(inbox: Inbox): Promise<readonly Envelope[]> {
  const message = await inbox.next();
  if (message) return [message];
  const steering = inbox.takeSteering();
  return steering.length > 0 ? steering : inbox.takeFollowUps({ max: 1 });
}

/** Replies to the senders. If there is no output, they get the end of the run instead. */
async function reply(ctx: RunContext, input: readonly Envelope[], output: Json): Promise<void> {
  // The parent of a run that hands off waits for its end.
  if (output === null || Pass.isReserved(output)) return;
  for (const message of input) await ctx.reply(message, valueText(output), output);
}
