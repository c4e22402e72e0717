import { ChatMessage, type Model } from "reeve";

/** A model in the middle of an answer. */
interface StreamingModel {
  readonly model: Model;
  /** Lets it stream its next piece. */
  readonly streamNext: () => void;
  /** Returns the number of calls. */
  readonly countCalls: () => number;
}

/** Streams its pieces in sequence, each when the test allows it. */
export function streamingModel(pieces: readonly string[]): StreamingModel {
  const turns = pieces.map(() => Promise.withResolvers<void>());
  let said = 0;
  let asked = 0;
  const model: Model = {
    id: "streaming",
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
  return { model, streamNext: () => turns[said++]?.resolve(), countCalls: () => asked };
}
