import {
  Labels,
  type FunctionContext,
  type FunctionMiddleware,
  type Guardrail,
  type GuardedCall,
  type NamedInterceptions,
  type Tool,
  type ToolResult,
  type ToolResultPatch,
} from "#kernel";

/**
 * Timeout of the guardrail. Longer than that of a handler, so that the handler is skipped before its guardrail fails.
 */
const timeoutS = 90;

/** Creates a guardrail from the handler of tool calls. It can block, but never allows what other rules refuse. */
export function toGuardrails({ extension, on: { toolCall } }: NamedInterceptions): readonly Guardrail[] {
  if (!toolCall) return [];
  return [
    {
      name: `extension ${extension}`,
      timeoutS,
      beforeCall: async (call, scope) => {
        const block = await scope.intercept(extension, async (context) =>
          readBlock(await toolCall(call, context)),
        );
        return block === undefined ? { kind: "allow" } : { kind: "block", reason: block };
      },
    },
  ];
}

/** Reads a reply. @throws TypeError for a reply that is neither empty nor `{ block }`. */
function readBlock(reply: unknown): string | undefined {
  if (reply === undefined || reply === null) return undefined;
  const block: unknown = typeof reply === "object" && "block" in reply ? reply.block : undefined;
  if (typeof block === "string" && block !== "") return block;
  throw new TypeError('toolCall must return nothing or { block: "<reason>" }');
}

/** Creates a layer around tool calls from the handlers of results. Undefined: there are none. */
export function toResultLayer(all: readonly NamedInterceptions[]): FunctionMiddleware | undefined {
  const patching = all.filter(({ on }) => on.toolResult !== undefined);
  return patching.length === 0 ? undefined : new ToolResultLayer(patching);
}

/** Patches results, one extension after the other. */
class ToolResultLayer implements FunctionMiddleware {
  readonly #patching: readonly NamedInterceptions[];

  constructor(patching: readonly NamedInterceptions[]) {
    this.#patching = patching;
  }

  async process(context: FunctionContext, next: () => Promise<void>): Promise<void> {
    await next();
    const call = toGuardedCall(context.tool, context.arguments);
    for (const { extension, on } of this.#patching) {
      const { result } = context;
      if (!result) return;
      const patched = await context.scope.intercept(extension, async (extensionContext) =>
        patch(result, await on.toolResult?.({ ...call, result }, extensionContext)),
      );
      context.result = patched ?? result;
    }
  }
}

const toGuardedCall = (tool: Tool, input: GuardedCall["input"]): GuardedCall => ({
  tool: tool.name,
  risk: tool.risk,
  input,
  brings: Labels.broughtBy(tool),
});

const badPatch = "toolResult must return nothing or { content?, isError?, terminate? }";

const isContent = (content: unknown): boolean =>
  Array.isArray(content) && content.every((block) => typeof Object(block).type === "string");

/** Applies a patch. @throws TypeError for an invalid one. */
function patch(result: ToolResult, change: ToolResultPatch | undefined | void): ToolResult {
  if (change === undefined || change === null) return result;
  if (typeof change !== "object") throw new TypeError(badPatch);
  const { content = result.content, isError = result.isError, terminate = result.terminate } = change;
  if (!isContent(content) || typeof isError !== "boolean") throw new TypeError(badPatch);
  const { terminate: _, value, ...rest } = result;
  // The value is the tool's own. It no longer matches changed content.
  const isSame = content === result.content && !isError;
  const kept = isSame && value !== undefined ? { value } : {};
  return { ...rest, ...kept, content, isError, ...(terminate === true && { terminate }) };
}
