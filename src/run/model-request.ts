import { hash } from "node:crypto";
import type { ChatMessage, LlmOptions, Model, ModelRequest } from "#kernel";
import { isNative } from "./call-estimate.ts";
import type { RunIdentity } from "./step.ts";

/** The parts of a call that its request is built from. */
interface RequestedCall {
  readonly model: Model;
  readonly options: LlmOptions;
  /** See `ModelRequest.stable`. */
  readonly stable?: readonly number[] | undefined;
}

/** Builds the request of a call, with the messages whose files are read, and the granted output. */
export function toRequest(
  { model, options, stable }: RequestedCall,
  { messages, maxOutputTokens }: Pick<ModelRequest, "messages" | "maxOutputTokens">,
  identity: Pick<RunIdentity, "scope" | "agentId">,
): ModelRequest {
  return {
    messages,
    tools: options.tools ?? [],
    maxOutputTokens,
    ...(options.settings && { settings: options.settings }),
    ...(options.toolChoice && { toolChoice: options.toolChoice }),
    ...(isNative(model, options) && { outputSchema: options.outputSchema }),
    ...(options.providerOptions && { options: options.providerOptions }),
    ...(stable && { stable, cacheKey: toCacheKey(identity) }),
  };
}

/**
 * Returns the ends of the prompt parts that later prompts of the conversation repeat: the system message, the messages
 * before this turn, and this turn so far. Nothing before such an end changes within a turn.
 */
export function stableParts(messages: readonly ChatMessage[], before = 0): readonly number[] {
  const system = messages[0]?.role === "system" ? 1 : 0;
  const ends = new Set([system, system + before, messages.length]);
  return Object.freeze([...ends].filter((end) => end > 0));
}

/**
 * Returns a cache key for the conversation of an agent. It is a hash, because users may choose the same session id, and
 * ids may be long.
 */
function toCacheKey({ scope, agentId }: Pick<RunIdentity, "scope" | "agentId">): string {
  const { tenantId, userId, sessionId } = scope;
  return hash("sha256", JSON.stringify([tenantId, userId, sessionId, agentId])).slice(0, 32);
}
