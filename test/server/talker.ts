import { ChatMessage, type Model } from "reeve";

/** A model in the middle of an answer. */
interface Talker {
  readonly model: Model;
  /** Lets it say its next piece. */
  readonly next: () => void;
  /** How often it was asked. */
  readonly asked: () => number;
}

/** Says its pieces one after the other, each when the test lets it. */
export function talker(pieces: readonly string[]): Talker {
  const turns = pieces.map(() => Promise.withResolvers<void>());
  let said = 0;
  let asked = 0;
  const model: Model = {
    id: "talker",
    generate: async (_, { onDelta }) => {
      asked += 1;
      for (const [n, piece] of pieces.entries()) {
        await turns[n]?.promise;
        onDelta?.({ kind: "text", text: piece });
      }
      const message = ChatMessage.assistant(pieces.join(""));
      return { message, usage: { input: 1, output: 1 }, finishReason: "stop" };
    },
  };
  return { model, next: () => turns[said++]?.resolve(), asked: () => asked };
}
