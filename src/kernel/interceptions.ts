import type { EventType, NumberedEvent } from "./event.ts";
import type { ExtensionContext } from "./extension-context.ts";
import type { GuardedCall, GuardedResult } from "./guardrail.ts";
import type { EntryId, SessionId } from "./ids.ts";
import type { ChatMessage } from "./message.ts";
import type { ToolResult } from "./tool-result.ts";

type Reply<T> = T | undefined | void | Promise<T | undefined | void>;

/** The change of a tool result. Fields that are not given stay. */
export interface ToolResultPatch {
  readonly content?: ToolResult["content"] | undefined;
  readonly isError?: boolean | undefined;
  /** Whether the turn may end with this result. */
  readonly terminate?: boolean | undefined;
}

/** A compaction that is about to be made. */
export interface CompactionPlan {
  /** The messages that the summary replaces, oldest first. */
  readonly messages: readonly ChatMessage[];
  /** The number of messages before the first one that is kept. */
  readonly cut: number;
  /** The summary of the last compaction. Null: there is none. */
  readonly previous: string | null;
}

/** A conversation that is about to be copied. */
export interface SessionFork {
  readonly session: SessionId;
  /** The newest entry of the copy. Null: it has none. */
  readonly entry: EntryId | null;
}

/** A conversation that is about to be left for another one. */
export interface SessionSwitch {
  readonly session: SessionId;
  readonly to: SessionId;
}

/** A reply that cancels the operation. */
export interface CancelReply {
  readonly cancel: true;
}

/** The moments at which an extension may change something. */
interface Interceptors {
  /** Sees the text of each input. Returns the text that the turn is given instead. A step of its own. */
  input?(text: string, context: ExtensionContext): Reply<string>;
  /** Sees the system prompt, once a turn. Returns a replacement for all calls of the turn. */
  beforeAgentStart?(prompt: string, context: ExtensionContext): Reply<string>;
  /** Sees the messages of each prompt, without the system prompt. Returns replacements. */
  context?(messages: readonly ChatMessage[], context: ExtensionContext): Reply<readonly ChatMessage[]>;
  /** Sees a tool call before it is made. Returns a reason to block it; the model is given the reason. */
  toolCall?(call: GuardedCall, context: ExtensionContext): Reply<{ readonly block: string }>;
  /** Sees the result of a tool call, as extensions before it have left it. */
  toolResult?(call: GuardedResult, context: ExtensionContext): Reply<ToolResultPatch>;
  /** Sees a compaction before it is made. Returns that it is not made, or its summary. */
  sessionBeforeCompact?(
    plan: CompactionPlan,
    context: ExtensionContext,
  ): Reply<CancelReply | { readonly summary: string }>;
  /** Sees a fork of the conversation before it is made. */
  sessionBeforeFork?(fork: SessionFork, context: ExtensionContext): Reply<CancelReply>;
  /** Sees the change to another conversation before it is made. */
  sessionBeforeSwitch?(change: SessionSwitch, context: ExtensionContext): Reply<CancelReply>;
}

/** The handlers of events. They watch, as hooks do: their results change nothing. */
type EventWatchers = {
  readonly [Type in EventType]?:
    | ((event: NumberedEvent<Type>, context: ExtensionContext) => void | Promise<void>)
    | undefined;
};

/** The handlers of an extension, by moment or by event. */
export type Interceptions = Readonly<Interceptors> & EventWatchers;

/** The name of a moment at which an extension may change something. */
export type InterceptedMoment = keyof Interceptors;

/** The names of all moments, in the order of a turn. */
export const interceptedMoments = [
  "input",
  "beforeAgentStart",
  "context",
  "toolCall",
  "toolResult",
  "sessionBeforeCompact",
  "sessionBeforeFork",
  "sessionBeforeSwitch",
] as const satisfies readonly InterceptedMoment[];

/** The handlers of one extension in an agent. */
export interface NamedInterceptions {
  readonly extension: string;
  readonly on: Interceptions;
}

/** A part of an extension that was left out when the agent was built. */
export interface ExtensionProblem {
  readonly extension: string;
  readonly message: string;
}
