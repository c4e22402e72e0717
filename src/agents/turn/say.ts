import { ChatMessage, type RunContext } from "#kernel";

interface MessageSink {
  readonly ctx: RunContext;
  readonly messages: ChatMessage[];
}

/** Adds a message to the turn: to the next prompt, and to the conversation, which stores no message without content. */
export function appendMessage({ ctx, messages }: MessageSink, message: ChatMessage): void {
  messages.push(message);
  if (message.content.length > 0) ctx.session.append(message);
}

/** Ends the turn with the text of its answer. A prompt never continues after a bare tool result. */
export function closeWith(state: MessageSink, text: string): void {
  const last = state.messages.findLast(({ content }) => content.length > 0);
  const isSaid = last?.role === "assistant" && (text === "" || ChatMessage.text(last) === text);
  if (!isSaid) appendMessage(state, ChatMessage.assistant(text === "" ? "[no text]" : text));
}
