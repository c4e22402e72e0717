import type { ChatMessage, ToolDescription } from "#kernel";

/** What a provider may add around each message. */
const tokensPerMessage = 16;

/**
 * An upper bound of the tokens of a prompt: no tokenizer makes more tokens of a text than it has UTF-8 bytes.
 * Images and files have no such bound and are counted by their stored form.
 */
export function inputBound(messages: readonly ChatMessage[], tools: readonly ToolDescription[] = []): number {
  let bytes = 0;
  for (const message of messages) bytes += tokensPerMessage + contentBytes(message);
  for (const tool of tools) bytes += byteLength(JSON.stringify(tool));
  return bytes;
}

/** Messages are never changed once written, and a long prompt repeats them all: each is measured once. */
const measured = new WeakMap<ChatMessage, number>();

function contentBytes(message: ChatMessage): number {
  const known = measured.get(message);
  if (known !== undefined) return known;
  let bytes = 0;
  for (const block of message.content) {
    bytes += block.type === "text" ? byteLength(block.text) : byteLength(JSON.stringify(block));
  }
  measured.set(message, bytes);
  return bytes;
}

const encoder = new TextEncoder();
const byteLength = (text: string): number => encoder.encode(text).length;
