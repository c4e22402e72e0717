import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  ChatMessage,
  type Agent,
  type AgentMiddleware,
  type AgentPolicy,
  type ChatMiddleware,
  type Continuation,
  type Ended,
  type Envelope,
  type ExecutionBudget,
  type FunctionMiddleware,
  type Guardrail,
  type Hireable,
  type HistoryRetention,
  type Hooks,
  type Inbox,
  Json,
  type Model,
  type ModelRetry,
  type Permissions,
  type Priority,
  type RunContext,
  type Tool,
} from "#kernel";
import { languageModel, type AnyModel } from "#models";
import { LoopDetection, type LoopLimits, type Noticed } from "./guardrails/loop-detection.ts";
import { allowAll } from "./permissions/permissions.ts";
import { isTeamTool, teamTools, type TeamMember } from "./team.ts";
import { aiSdkTools, type AiSdkTool } from "./tools/ai-sdk-tools.ts";
import { answered, guardedEnd } from "./turn/answer.ts";
import { outputInstruction } from "./turn/structured-output.ts";
import { proceed, turn, type TurnState } from "./turn/turn.ts";

/** What an agent is made of. */
export interface AgentOptions {
  readonly name: string;
  /** What a boss sees when it decides whom to hire. */
  readonly description?: string | undefined;
  /** Any AI SDK language model, or a model of your own. */
  readonly model: AnyModel;
  /** The system prompt. */
  readonly instructions?: string | undefined;
  /** Tools of `tool()`, or AI SDK tool objects by name. */
  readonly tools?: readonly Tool[] | Readonly<Record<string, AiSdkTool>> | undefined;
  /** Whom it may hire: the model sees one tool `ask_<name>` for each. */
  readonly team?: readonly (Hireable | TeamMember)[] | undefined;
  /** What each of its runs may spend, everything it hires included. Default: no cap of its own. */
  readonly budget?: ExecutionBudget | undefined;
  /** The form of its answer. Default: words. */
  readonly output?: StandardSchemaV1 | undefined;
  /** The most it may say in one call. Default: the model's limit. */
  readonly maxOutputTokens?: number | undefined;
  readonly middleware?: {
    readonly agent?: readonly AgentMiddleware[];
    readonly chat?: readonly ChatMiddleware[];
    readonly function?: readonly FunctionMiddleware[];
  };
  readonly hooks?: Hooks | undefined;
  /** Who decides about tools. Default: safe ones run, others are refused. */
  readonly permissions?: Permissions | "allow-all" | undefined;
  /** Who looks at what goes in and out, after the guardrails of the runtime. Default: nobody. */
  readonly guardrails?: readonly Guardrail[] | undefined;
  readonly retry?: ModelRetry | undefined;
  /** When to stop an agent that repeats itself. */
  readonly loopLimits?: LoopLimits | undefined;
  readonly retention?: HistoryRetention | undefined;
  readonly priority?: Priority | undefined;
  readonly version?: string | undefined;
  /** Steps after which a run goes on in a fresh execution: as many are replayed after a crash. Default 2,000. */
  readonly continueAfter?: number | undefined;
}

const defaultContinueAfter = 2_000;

/** An agent made by `agent()`: its options stay readable, so that one can be made from another. */
export type BuiltAgent = Agent &
  Omit<AgentOptions, "model" | "tools"> & { readonly model: Model; readonly tools: readonly Tool[] };

/** Builds an agent that thinks with a model, acts with tools and hires from its team. */
export function agent(options: AgentOptions): BuiltAgent {
  const model = languageModel(options.model);
  const tools = [...ownTools(options.tools), ...teamTools(options.team ?? [])];
  const definition: Definition = { options, model, tools };
  return Object.freeze({
    ...options,
    id: AgentId.of(options.name),
    model,
    tools,
    // The team's tools are made anew from `team` when an agent is made from this one.
    team: options.team,
    policy: policyOf(options),
    run: (ctx: RunContext, inbox: Inbox) => run(definition, ctx, inbox),
  });
}

interface Definition {
  readonly options: AgentOptions;
  readonly model: Model;
  readonly tools: readonly Tool[];
}

function ownTools(tools: AgentOptions["tools"]): readonly Tool[] {
  if (!tools) return [];
  return isList(tools) ? tools.filter((given) => !isTeamTool(given)) : aiSdkTools(tools);
}

function isList(tools: NonNullable<AgentOptions["tools"]>): tools is readonly Tool[] {
  return Array.isArray(tools);
}

function policyOf({ middleware = {}, hooks, permissions, guardrails, retry }: AgentOptions): AgentPolicy {
  const decides = permissions === "allow-all" ? allowAll : permissions;
  return { ...middleware, hooks, retry, guardrails, permissions: decides };
}

/** What goes with a run into a fresh execution, in the middle of a turn. */
interface Unfinished {
  readonly turn: number;
  readonly input: readonly Envelope[];
  readonly output: Json;
  readonly cycles: number;
  readonly messages: ChatMessage[];
  readonly reported: TurnState["reported"];
  readonly noticed: Noticed;
}

/** Every message is a turn; the last answer is the run's output. */
async function run(
  definition: Definition,
  ctx: RunContext,
  inbox: Inbox,
): Promise<Json | Ended | Continuation> {
  const { options, model, tools } = definition;
  const before = ctx.state === null ? null : Json.as<Unfinished>(ctx.state);
  const state: TurnState = {
    ctx,
    inbox,
    model,
    tools,
    messages: before?.messages ?? systemPrompt(options),
    loops: new LoopDetection(options.loopLimits, before?.noticed),
    maxOutputTokens: options.maxOutputTokens,
    continueAfter: options.continueAfter ?? defaultContinueAfter,
    cycles: before?.cycles ?? 0,
    reported: before?.reported,
  };
  let output: Json = before?.output ?? null;
  for (let number = before?.turn ?? 1; ; number++) {
    const resumed = before?.turn === number ? before : null;
    const input = resumed?.input ?? (await nextInput(inbox));
    if (input.length === 0) return output;
    if (!resumed) ctx.note("turn.start", { turn: number });
    const outcome = await (resumed ? proceed(state) : turn(state, input));
    if (outcome.kind === "unfinished") {
      const { cycles, messages, reported, loops } = state;
      const turnSoFar = { turn: number, input, output, cycles, messages, reported };
      const rest: Unfinished = { ...turnSoFar, noticed: loops.noticed };
      return ctx.continueAs(Json.of(rest));
    }
    ctx.note("turn.end", { turn: number });
    if (outcome.kind === "ended") {
      const ended = await guardedEnd(ctx, outcome);
      if (ended.status === "landed") await reply(ctx, input, ended.output);
      return ended;
    }
    const answer = await answered(state, options.output, outcome.text);
    if ("failure" in answer) return answer.failure;
    output = answer.value;
    await reply(ctx, input, output);
  }
}

/** The next message, or what was said to the run while it was about to stop. Empty: there is nothing more. */
async function nextInput(inbox: Inbox): Promise<readonly Envelope[]> {
  const message = await inbox.next();
  return message ? [message] : [...inbox.steering(), ...inbox.followUps()];
}

/** Whoever asked and gets nothing hears how the run ended. */
async function reply(ctx: RunContext, input: readonly Envelope[], output: Json): Promise<void> {
  if (output === null) return;
  const text = typeof output === "string" ? output : JSON.stringify(output);
  for (const message of input) await ctx.reply(message, text, output);
}

function systemPrompt({ instructions, output }: AgentOptions): ChatMessage[] {
  const parts = [instructions ?? "", output ? outputInstruction(output) : ""].filter((part) => part !== "");
  return parts.length === 0 ? [] : [ChatMessage.system(parts.join("\n\n"))];
}
