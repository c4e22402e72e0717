import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  CancellationError,
  ChatMessage,
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
  type Hireable,
  type HistoryProvider,
  type HistoryRetention,
  type Hooks,
  type Inbox,
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
  type RunScope,
  type Tool,
  type ToolChoice,
} from "#kernel";
import type { AnyModel } from "#models";
import { toCompactionPolicy, type CompactionOptions } from "./compaction-options.ts";
import { checkSection } from "./extensions/extension.ts";
import { noteRebuild, ownExtensions, unexpanded, type Expand } from "./extensions/extend-agent.ts";
import { takeApart, type JoinedParts } from "./extensions/take-apart.ts";
import { LoopDetection, type LoopLimits, type Noticed } from "./guardrails/loop-detection.ts";
import { modelOrMissing } from "./missing-model.ts";
import { allowAll } from "./permissions/permissions.ts";
import { assembleSystemPrompt, joinParagraphs } from "./prompt/system-prompt.ts";
import { isTeamTool, teamTools, type TeamMember } from "./team.ts";
import { aiSdkTools, type AiSdkTool } from "./tools/ai-sdk-tools.ts";
import { guardedEnd, Repairs } from "./turn/answer.ts";
import { unguardedText } from "./turn/landing.ts";
import { compactAfterTurn } from "./turn/make-room.ts";
import { checkReview, reviewAfterTurn, type ReviewOptions } from "./turn/review.ts";
import { OutputForm } from "./turn/structured-output.ts";
import type { TurnState } from "./turn/turn-state.ts";
import { proceed, turn } from "./turn/turn.ts";

/** The input of instructions that are a function. */
export interface InstructionsInput {
  /** Tenant, user, session, channel and metadata of the request. */
  readonly scope: RunScope;
  /** The text that the turn begins with. */
  readonly input: string;
}

/** Computes the system message of a turn. It may read a database: it is called inside a step. */
export type Instructions = (turn: InstructionsInput) => Promise<string> | string;

/** The definition of an agent. `Output`: what its output schema produces; text without one. */
export interface AgentOptions<Output = string> {
  readonly name: string;
  /** What a boss sees when it decides whom to hire. */
  readonly description?: string | undefined;
  /** Any AI SDK language model, or a model of your own. */
  readonly model: AnyModel;
  /**
   * The system message: a text, or a function that is called in the first model step of each turn. Its text is recorded
   * with the step and kept for the turn. Default: none.
   */
  readonly instructions?: string | Instructions | undefined;
  /** Temperature, reasoning and others: laid over those of `languageModel(model, { settings })`. Default: none. */
  readonly settings?: ModelSettings | undefined;
  /** Options that only the provider understands, by provider: laid over those of the model. Default: none. */
  readonly providerOptions?: JsonObject | undefined;
  /**
   * Whether and which tool the model calls. `required` and `{ tool }` hold for the first call of a turn: afterwards the
   * model may answer. Default: auto.
   */
  readonly toolChoice?: ToolChoice | undefined;
  /** Tools of `tool()`, or AI SDK tool objects by name. */
  readonly tools?: readonly Tool[] | Readonly<Record<string, AiSdkTool>> | undefined;
  /** Whom it may hire: the model sees one tool `ask_<name>` for each. */
  readonly team?: readonly (Hireable | TeamMember)[] | undefined;
  /**
   * The way in which it leads its workers: one of `reeve/architectures`, a flow, or your own. Default: its model decides, call
   * by call.
   */
  readonly architecture?: Architecture | undefined;
  /** What each of its runs may spend, everything it hires included. Default: no cap of its own. */
  readonly budget?: ExecutionBudget | undefined;
  /** The schema of its answer, which is validated. Default: text. */
  readonly output?: StandardSchemaV1<unknown, Output> | undefined;
  /** The most it may say in one call. Default: the model's limit. */
  readonly maxOutputTokens?: number | undefined;
  readonly middleware?: MiddlewareSet | undefined;
  readonly hooks?: Hooks | undefined;
  /** Who decides about tools. Default: safe ones run, others are refused. */
  readonly permissions?: Permissions | "allow-all" | undefined;
  /** Who looks at what goes in and out, after the guardrails of the runtime. Default: nobody. */
  readonly guardrails?: readonly Guardrail[] | undefined;
  readonly retry?: ModelRetry | undefined;
  /**
   * How its conversations are kept within the context of its model. Default: a conversation that has become too long is summed
   * up after the turn, and a prompt that is too long before it is sent. False: only the newest part that fits is sent.
   */
  readonly compaction?: CompactionOptions | false | undefined;
  /** Where the messages before a turn come from. Such a conversation is not summed up in the store. Default: the store. */
  readonly history?: HistoryProvider | undefined;
  /** State that the model is shown last in every call, such as an open page. It is kept nowhere. Default: none. */
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
  /** The agent's files: `profile(folder)` of `reeve/profile`. It counts as the first extension. Default: none. */
  readonly profile?: Extension | undefined;
  /**
   * Parts of the system prompt, after the instructions. With any list, also an empty one, the prompt has a hint for the
   * channel of the request, and a footer with the day, the working directory and the session. Default: none.
   */
  readonly sections?: readonly PromptSection[] | undefined;
  /** Bundles of tools, hooks, middleware, guardrails and more, which join those of the agent. Default: none. */
  readonly extensions?: readonly Extension[] | undefined;
  /**
   * After every so many turns of a conversation, a copy of the agent is given a task, for example to keep notes of what was
   * said. It is shown the conversation, and is part of the turn's tree and its budget. Default: never.
   */
  readonly review?: ReviewOptions | undefined;
  /** When to stop an agent that repeats itself. */
  readonly loopLimits?: LoopLimits | undefined;
  readonly retention?: HistoryRetention | undefined;
  readonly priority?: Priority | undefined;
  readonly version?: string | undefined;
  /** How often a run that crashed is started again. Default: the runtime's. */
  readonly maxRestarts?: number | undefined;
  /** Journal entries after which a run goes on in a fresh execution: as many are replayed after a crash. Default 2,000. */
  readonly continueAfter?: number | undefined;
}

/** The definition of an agent whose architecture calls no model of its own. */
export interface LedAgentOptions<Output = string> extends Omit<AgentOptions<Output>, "model"> {
  readonly model?: AnyModel | undefined;
  readonly architecture: Architecture;
}

type GivenOptions<Output> = AgentOptions<Output> | LedAgentOptions<Output>;

const defaultContinueAfter = 2_000;

/** An agent made by `agent()`: its options stay readable, so that one can be made from another. */
export interface BuiltAgent<Output = string> extends Agent<Output>, Omit<AgentOptions<Output>, keyof Agent> {
  readonly model: Model;
  /** Its own tools, then those for its team, then those of its extensions. */
  readonly tools: readonly Tool[];
  /** Parts of its extensions that were left out, each with the reason. */
  readonly problems: readonly string[];
}

/**
 * Defines an agent that thinks with a model, acts with tools and spawns its team. With `output: schema` its answer is
 * validated data, and `start`, `result`, `ask` and `join` know its type.
 */
export function agent<Output = string>(options: LedAgentOptions<Output>): BuiltAgent<Jsonified<Output>>;
export function agent<Output = string>(options: AgentOptions<Output>): BuiltAgent<Jsonified<Output>>;
export function agent<Output = string>(given: GivenOptions<Output>): BuiltAgent<Jsonified<Output>> {
  const built = build(given, unexpanded);
  noteRebuild(built, { ...given, build: (expand) => Json.as<Agent>(Json.of(build(given, expand))) });
  return Json.as(Json.of(built));
}

/** Builds an agent with its extensions, and with those that `expand` adds to them. */
function build<Output>(given: GivenOptions<Output>, expand: Expand): BuiltAgent<unknown> {
  const options: AgentOptions<Output> = { ...given, model: modelOrMissing(given.model) };
  const model = modelOrMissing(options.model);
  const own = ownTools(options.tools);
  const parts = takeApart(expand(ownExtensions(options)), {
    ...options,
    tools: [...own, ...teamTools(options.team ?? []), ...(options.architecture?.tools ?? [])],
  });
  const { tools, problems } = parts;
  if (options.review) checkReview(options.review);
  for (const section of options.sections ?? []) checkSection(section);
  ownLists.set(tools, own);
  const output = options.output && OutputForm.of(options.name, options.output, model);
  const hasSections = options.sections !== undefined || parts.sections.length > 0;
  const hasPromptHandler = parts.interceptions.some(({ on }) => on.beforeAgentStart !== undefined);
  const definition: Definition = { options, model, tools, output, hasSections, hasPromptHandler };
  const built: BuiltAgent<unknown> = {
    ...options,
    id: AgentId.of(options.name),
    model,
    tools,
    problems: problems.map(({ extension, message }) => `extension ${extension}: ${message}`),
    // The team's tools are made anew from `team` when an agent is made from this one.
    team: options.team,
    policy: policyOf(options, parts, hasSections),
    run: (ctx: RunContext, inbox: Inbox) => run(definition, ctx, inbox),
  };
  return Object.freeze(built);
}

interface Definition {
  readonly options: AgentOptions<unknown>;
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly output: OutputForm | undefined;
  readonly hasSections: boolean;
  /** Whether an extension may replace the system prompt: then it is computed in the first call of each turn. */
  readonly hasPromptHandler: boolean;
}

/** The tools that an agent was given itself, by its list of all. */
const ownLists = new WeakMap<readonly Tool[], readonly Tool[]>();

/** Tools for the team and of extensions are added again when an agent is made from another one. */
function ownTools(tools: AgentOptions["tools"]): readonly Tool[] {
  if (!tools) return [];
  if (!isList(tools)) return aiSdkTools(tools);
  return ownLists.get(tools) ?? tools.filter((given) => !isTeamTool(given));
}

function isList(tools: NonNullable<AgentOptions["tools"]>): tools is readonly Tool[] {
  return Array.isArray(tools);
}

function policyOf(
  { permissions, retry, compaction, history }: AgentOptions<unknown>,
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

/** What goes with a run into a fresh execution, in the middle of a turn or between two. */
interface Unfinished {
  readonly turn: number;
  /** Null between two turns. */
  readonly input: readonly Envelope[] | null;
  readonly output: Json;
  readonly cycles: number;
  readonly repairs: Repairs;
  readonly messages: ChatMessage[];
  readonly summary?: string | null;
  readonly noticed: Noticed;
}

function leadOf({ architecture, name, instructions, budget }: AgentOptions<unknown>): TurnState["lead"] {
  if (!architecture) return undefined;
  const text = typeof instructions === "string" ? instructions : "";
  return { architecture, name, instructions: text, maxTurns: budget?.maxTurns ?? null };
}

/** Answers messages until none is left. A run that is cancelled, or out of time, keeps the last words of its model. */
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
    return await answerMessages(state, before);
  } catch (error) {
    if (error instanceof CancellationError && !options.output) return unguardedText(state);
    throw error;
  }
}

/** Every message is a turn; the last answer is the run's output. */
async function answerMessages(
  state: TurnState,
  before: Unfinished | null,
): Promise<Json | Ended | Continuation> {
  const { ctx, inbox } = state;
  let output: Json = before?.output ?? null;
  for (let number = before?.turn ?? 1; ; number++) {
    const resumed = before?.turn === number && before.input ? before : null;
    const isFirst = number === (before?.turn ?? 1);
    if (!isFirst && ctx.journalLength >= state.continueAfter)
      return goOn(state, { turn: number, input: null, output }, ctx);
    const input = resumed?.input ?? (await nextInput(inbox));
    if (input.length === 0) return output;
    if (!resumed) ctx.record("turn.start", { turn: number });
    const outcome = await (resumed ? proceed(state) : turn(state, input));
    if (outcome.kind === "unfinished") {
      return goOn(state, { turn: number, input, output }, ctx);
    }
    const ended = outcome.kind === "ended" ? await guardedEnd(ctx, outcome) : null;
    // A turn without an answer is settled by the tree.
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

/** Saves the turn. The messages of a conversation that is kept are read from there in the next turn. */
async function saveTurn({ ctx, messages }: TurnState): Promise<void> {
  const leaf = await ctx.session.save();
  if (leaf !== null) messages.splice(messages[0]?.role === "system" ? 1 : 0);
}

/** Continues in a fresh execution. */
function goOn(
  { cycles, repairs, messages, summary, loops }: TurnState,
  place: Pick<Unfinished, "turn" | "input" | "output">,
  ctx: RunContext,
): Continuation {
  const rest: Unfinished = { ...place, cycles, repairs, messages, summary, noticed: loops.noticed };
  return ctx.continueAs(Json.of(rest));
}

/**
 * The input of the next turn: the next message, else steering that came too late for the turn before, else the oldest
 * follow-up. Empty: there is nothing more.
 */
async function nextInput(inbox: Inbox): Promise<readonly Envelope[]> {
  const message = await inbox.next();
  if (message) return [message];
  const steering = inbox.steering();
  return steering.length > 0 ? steering : inbox.followUps({ max: 1 });
}

/** Whoever asked and gets nothing hears how the run ended. */
async function reply(ctx: RunContext, input: readonly Envelope[], output: Json): Promise<void> {
  if (output === null) return;
  const text = typeof output === "string" ? output : JSON.stringify(output);
  for (const message of input) await ctx.reply(message, text, output);
}

/** The system message that does not change; none if the first call of each turn computes it. */
function systemPrompt(definition: Definition): ChatMessage[] {
  const { instructions = "" } = definition.options;
  if (typeof instructions === "function" || definition.hasSections || definition.hasPromptHandler) return [];
  const text = joinParagraphs([instructions, formText(definition)]);
  return text === "" ? [] : [ChatMessage.system(text)];
}

/** Computes the system message of a turn. Undefined: it does not change. */
function computePrompt(definition: Definition, { meta: { scope } }: RunContext): TurnState["instructions"] {
  const { instructions } = definition.options;
  const compute = (input: string): Promise<string> | string => {
    if (typeof instructions !== "function") return instructions ?? "";
    if (!scope) throw new TypeError("instructions as a function need a run");
    return instructions({ scope, input });
  };
  if (definition.hasSections) {
    const isGiven = instructions !== undefined;
    return async (input, call) => {
      const start = { instructions: isGiven ? () => compute(input) : undefined, form: formText(definition) };
      return assembleSystemPrompt(start, await call.readSections());
    };
  }
  if (typeof instructions !== "function" && !definition.hasPromptHandler) return undefined;
  return async (input) => joinParagraphs([await compute(input), formText(definition)]);
}

/** The form of the answer in words. Empty for a model that takes the schema natively. */
function formText({ output }: Definition): string {
  return output && !output.native ? OutputForm.instruction(output) : "";
}
