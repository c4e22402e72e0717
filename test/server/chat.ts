import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  DefaultChatTransport,
  isTextUIPart,
  isToolUIPart,
  type UIMessage,
} from "ai";

/** The state that a framework would keep. */
function plainState(): ChatState<UIMessage> {
  const state: ChatState<UIMessage> = {
    status: "ready",
    error: undefined,
    messages: [],
    pushMessage: (message) => (state.messages = [...state.messages, message]),
    popMessage: () => (state.messages = state.messages.slice(0, -1)),
    replaceMessage: (index, message) => (state.messages = state.messages.with(index, message)),
    snapshot: (thing) => structuredClone(thing),
  };
  return state;
}

/** The chat behind `useChat`, without a framework. */
export class PlainChat extends AbstractChat<UIMessage> {
  constructor(init: ChatInit<UIMessage>) {
    super({ ...init, state: plainState() });
  }

  /** Returns the newest message as shown. */
  get shown(): { readonly text: string; readonly tools: readonly string[] } {
    const parts = this.messages.at(-1)?.parts ?? [];
    return {
      text: parts
        .filter(isTextUIPart)
        .map(({ text }) => text)
        .join("|"),
      tools: parts
        .filter(isToolUIPart)
        .map(({ state, ...part }) => `${"toolName" in part ? part.toolName : part.type} ${state}`),
    };
  }
}

/** Creates a chat with an agent of a server, from its address and a key alone. */
export const chatWith = (url: string, key: string, init: ChatInit<UIMessage> = {}): PlainChat =>
  new PlainChat({
    transport: new DefaultChatTransport({ api: url, headers: { authorization: `Bearer ${key}` } }),
    ...init,
  });
