import { ContentBlock, type ChatMessage, type DataBlock, type Envelope } from "#kernel";

/** Returns the message that gives a model an input: its text with a note of a guardrail, its data, its files. */
export function userMessage({ text, data, files = [] }: Envelope, note: string | null): ChatMessage {
  const noted = [text, ...(note === null ? [] : [`Note: ${note}.`])].filter((part) => part !== "");
  const texts = noted.length === 0 ? [] : [ContentBlock.text(noted.join("\n\n"))];
  const blocks = data === undefined ? [] : [{ type: "data", data } satisfies DataBlock];
  const content = [...texts, ...blocks, ...files];
  return { role: "user", content: content.length === 0 ? [ContentBlock.text("")] : content };
}

/** Returns the parts of an input that guardrails can read: its text, and its data as JSON. */
export function readableText({ text, data }: Envelope): string {
  const parts = [text, ...(data === undefined ? [] : [JSON.stringify(data)])];
  return parts.filter((part) => part !== "").join("\n\n");
}
