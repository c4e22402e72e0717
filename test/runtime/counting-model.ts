import { ChatMessage, type Model, ModelError } from "reeve";

/**
 * A model that answers with the number of messages and the last one, in two pieces. A message that begins with `hang`
 * gets only its first piece; one with `fail`, an error.
 */
export const counter: Model = {
  id: "counter",
  contextWindow: 1_000,
  async generate({ messages }, { signal, onDelta }) {
    const last = ChatMessage.text(messages.at(-1) ?? ChatMessage.user(""));
    if (last.startsWith("fail")) throw new ModelError({ kind: "auth", message: "no" });
    const parts = [`${messages.length}: `, last];
    for (const text of last.startsWith("hang") ? parts.slice(0, 1) : parts) onDelta?.({ kind: "text", text });
    if (last.startsWith("hang"))
      await new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    const usage = { input: 100 * messages.length, output: 7 };
    return { message: ChatMessage.assistant(parts.join("")), usage, finishReason: "stop" };
  },
};
