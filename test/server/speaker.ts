import { type Agent, AgentId, ChatMessage, type Model } from "reeve";

/** Streams the given pieces, and answers on request. */
export function speaker(): {
  readonly model: Model;
  readonly say: (text: string) => void;
  readonly answer: () => void;
  readonly asked: Promise<void>;
} {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let tell: ((text: string) => void) | null = null;
  let text = "";
  const model: Model = {
    id: "speaker",
    generate: async (_, { onDelta }) => {
      tell = (piece) => onDelta?.({ kind: "text", text: piece });
      asked.resolve();
      await answered.promise;
      return { message: ChatMessage.assistant(text), usage: { input: 1, output: 1 }, finishReason: "stop" };
    },
  };
  const say = (piece: string): void => {
    text += piece;
    tell?.(piece);
  };
  return { model, say, answer: () => answered.resolve(), asked: asked.promise };
}

/** Calls its model on request. */
export const speakingAgent = (model: Model): Agent => ({
  id: AgentId.of("speaker"),
  model,
  run: async (ctx) => {
    await ctx.waitFor("speak");
    return ChatMessage.text((await ctx.llm([ChatMessage.user("speak")])).message);
  },
});
