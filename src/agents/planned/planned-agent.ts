// An agent that plans before it reads: its model names the tools it will call, in order, before it has seen any result.
//
// Invariants:
// 1. The plan depends only on the task. No tool result can add, swap or reorder a call.
// 2. In each step the model is offered only the planned tool. A call of another tool ends the run as `tool-refused`.
// 3. With a quarantine, the model that plans and calls never sees the results of the named tools, nor results of tools
//    that were given values from there. It has handles, and the program inserts the values.
// 4. Permissions, approvals, guardrails, labels and budgets apply as for every tool call.
import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  AgentId,
  ChatMessage,
  ContentBlock,
  OutputError,
  ToolRefusedError,
  type Agent,
  type Json,
  type RunContext,
  type Tool,
  type ToolCallBlock,
} from "#kernel";
import { languageModel, type AnyModel } from "#models";
import { describeTool } from "../tools/tool.ts";
import { checkAnswer } from "../turn/structured-output.ts";
import { Quarantine } from "./quarantine.ts";

/** Options of a quarantine: only a model without tools reads the results of these tools. */
interface QuarantineOptions {
  /** The names of the tools. */
  readonly tools: readonly string[];
  /** The schema of the values that are extracted from each result. */
  readonly schema: StandardSchemaV1;
  /** The model that reads. Default: the agent's own, in separate calls. */
  readonly model?: AnyModel | undefined;
}

/** Options of an agent that follows a plan. */
export interface PlannedAgentOptions {
  readonly name: string;
  readonly description?: string | undefined;
  readonly model: AnyModel;
  readonly tools: readonly Tool[];
  /** Default: none. */
  readonly instructions?: string | undefined;
  /** Maximum number of calls of a plan. Default: 20. */
  readonly maxCalls?: number | undefined;
  /** Default: the model sees the results of tools. */
  readonly quarantine?: QuarantineOptions | undefined;
}

/**
 * Creates an agent that fixes the sequence of its tool calls before the first of them, and then follows it. If an
 * injected instruction makes the model call another tool, the run ends: stop reason `error`, code `tool-refused`.
 */
export function plannedAgent(options: PlannedAgentOptions): Agent<string> {
  const { name, description, tools, maxCalls = 20, quarantine } = options;
  if (!(Number.isSafeInteger(maxCalls) && maxCalls >= 1))
    throw new RangeError(`maxCalls must be an integer >= 1, got ${maxCalls}`);
  const unknown = quarantine?.tools.find((named) => !tools.some((tool) => tool.name === named));
  if (unknown !== undefined) throw new TypeError(`quarantine.tools: ${unknown} is not a tool of ${name}`);
  const reader = quarantine?.model && languageModel(quarantine.model);
  return {
    id: AgentId.of(name),
    ...(description !== undefined && { description }),
    model: languageModel(options.model),
    tools,
    async run(ctx, inbox) {
      const task = (await inbox.next())?.text ?? "";
      const plan = await makePlan(ctx, options, { task, maxCalls });
      const values = quarantine ? new Quarantine(ctx, reader, quarantine.schema) : null;
      return followPlan(ctx, options, { task, plan, values });
    },
  };
}

async function makePlan(
  ctx: RunContext,
  { name, tools, instructions = "" }: PlannedAgentOptions,
  { task, maxCalls }: { readonly task: string; readonly maxCalls: number },
): Promise<readonly Tool[]> {
  const list = tools.map((tool) => `${tool.name}: ${tool.description}`).join("\n");
  const request = `Plan first. Answer with a JSON array of the names of the tools to call, in order, at most ${maxCalls}, and nothing else. You can call only the tools in this plan.\n${list}`;
  const { message } = await ctx.llm([
    ChatMessage.system([instructions, request].filter(Boolean).join("\n\n")),
    ChatMessage.user(task),
  ]);
  const text = ChatMessage.text(message);
  const checked = await checkAnswer(namesOf(tools, maxCalls), text);
  if ("issues" in checked)
    throw new OutputError({
      message: `the plan of ${name} is not valid: ${checked.issues}`,
      answer: text.slice(0, 2_000),
    });
  const names = new Map(tools.map((tool) => [tool.name, tool]));
  const plan = Array.isArray(checked.value) ? checked.value : [];
  return plan.flatMap((planned: Json) => (typeof planned === "string" ? (names.get(planned) ?? []) : []));
}

/** Returns the schema of a plan. */
function namesOf(tools: readonly Tool[], max: number): StandardSchemaV1<unknown, readonly string[]> {
  const known = new Set(tools.map(({ name }) => name));
  const isName = (value: unknown): value is string => typeof value === "string" && known.has(value);
  return {
    "~standard": {
      version: 1,
      vendor: "reeve",
      validate: (value) =>
        Array.isArray(value) && value.length <= max && value.every(isName)
          ? { value: value.filter(isName) }
          : { issues: [{ message: `must be a list of at most ${max} tool names` }] },
    },
  };
}

interface Plan {
  readonly task: string;
  readonly plan: readonly Tool[];
  readonly values: Quarantine | null;
}

async function followPlan(
  ctx: RunContext,
  { instructions = "", quarantine }: PlannedAgentOptions,
  { task, plan, values }: Plan,
): Promise<string> {
  const names = plan.map(({ name }) => name).join(", ");
  const told = `Follow this plan, one call at a time: ${names}.`;
  const messages = [
    ChatMessage.system([instructions, told].filter(Boolean).join("\n\n")),
    ChatMessage.user(task),
  ];
  for (const tool of plan) {
    const { message } = await ctx.llm(messages, { tools: [describeTool(tool)] });
    const call = plannedCall(message, tool);
    // The model has what it needs: leaving out calls is harmless.
    if (!call) return values?.fillText(ChatMessage.text(message)) ?? ChatMessage.text(message);
    const input = values?.fill(call.input) ?? call.input;
    const result = await ctx.tool(tool.name, input, { callId: call.callId });
    const isHidden = quarantine?.tools.includes(tool.name) ?? false;
    const content =
      values && isHidden
        ? [ContentBlock.text(await values.read(result))]
        : values?.isUsedIn(call.input)
          ? [ContentBlock.text(result.isError ? "The call failed." : "The call succeeded.")]
          : result.content;
    const { callId, name } = call;
    messages.push(message, {
      role: "tool",
      content: [{ type: "tool-result", callId, name, content, isError: result.isError }],
    });
  }
  const { message } = await ctx.llm(messages);
  const stray = message.content.find((block): block is ToolCallBlock => block.type === "tool-call");
  if (stray) throw new ToolRefusedError({ tool: stray.name, reason: "the plan has no further call" });
  return values?.fillText(ChatMessage.text(message)) ?? ChatMessage.text(message);
}

/** Returns the planned call. Null if the model makes none. @throws ToolRefusedError */
function plannedCall({ content }: ChatMessage, { name }: Tool): ToolCallBlock | null {
  const calls = content.filter((block): block is ToolCallBlock => block.type === "tool-call");
  const [first] = calls;
  if (!first) return null;
  const other = calls.find((call) => call.name !== name) ?? calls[1];
  if (other) throw new ToolRefusedError({ tool: other.name, reason: `the next call of the plan is ${name}` });
  return first;
}
