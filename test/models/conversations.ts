import * as fc from "fast-check";
import { ChatMessage, type ContentBlock, type ToolDescription } from "#kernel";

/**
 * Text in many scripts, with difficult characters for tokenizers and JSON: emoji, marks, controls, quotes, lone
 * surrogates.
 */
export const words: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 80 }),
  fc.string({ unit: "binary", maxLength: 80 }),
  fc
    .array(
      fc.constantFrom(
        "The pump was built in 1987. ",
        "Die Mühle wurde gebaut. ",
        "Мельница была построена. ",
        "装置は1987年に建てられた。",
        "물레방아는 지어졌다. ",
        "بُنيت الطاحونة. ",
        "चक्की बनाई गई थी। ",
        "โรงสีถูกสร้างขึ้น ",
        "🏭👩‍👩‍👧‍👦🇩🇪",
        "ﷺ𒐫𓀀",
        '"\\"\n\t\u0001\u0000',
        "\ud83d",
        "    ",
      ),
      { maxLength: 20 },
    )
    .map((pieces) => pieces.join("")),
);

const json = fc.jsonValue({ maxDepth: 2 });

const inputs = fc.dictionary(fc.string({ maxLength: 8 }), fc.oneof(words, json), { maxKeys: 4 });

const text: fc.Arbitrary<ContentBlock> = words.map((value) => ({ type: "text", text: value }));
const data: fc.Arbitrary<ContentBlock> = inputs.map((value) => ({
  type: "data",
  data: JSON.parse(JSON.stringify(value)),
}));

const userMessage: fc.Arbitrary<ChatMessage> = fc
  .array(fc.oneof(text, data), { minLength: 1, maxLength: 3 })
  .map((content) => ({ role: "user", content }));

const exchange: fc.Arbitrary<ChatMessage[]> = fc
  .record({
    id: fc.uuid(),
    said: words,
    input: inputs,
    answer: fc.array(fc.oneof(text, data), { maxLength: 3 }),
    isError: fc.boolean(),
  })
  .map(({ id, said, input, answer, isError }): ChatMessage[] => [
    {
      role: "assistant",
      content: [
        { type: "text", text: said },
        { type: "tool-call", callId: id, name: "look", input: JSON.parse(JSON.stringify(input)) },
      ],
    },
    { role: "tool", content: [{ type: "tool-result", callId: id, name: "look", content: answer, isError }] },
  ]);

/** A system prompt, followed by messages of users, models and tools in turn. */
export const conversations: fc.Arbitrary<ChatMessage[]> = fc
  .tuple(words, userMessage, fc.array(exchange, { maxLength: 4 }), userMessage)
  .map(([system, first, exchanges, last]) =>
    [[ChatMessage.system(system), first], ...exchanges, [last]].flat(),
  );

/** A tool as described to a model. */
export const look: ToolDescription = {
  name: "look",
  description: "Look a fact up",
  inputSchema: { type: "object", properties: { question: { type: "string" } }, required: ["question"] },
};
