import { ChatMessage, ContentBlock } from "reeve";
import { expect, test } from "vitest";

test("a block of an unknown type is read exactly as it was stored", () => {
  const stored = { type: "hologram", layers: [1, 2] };
  const block = ContentBlock.decode(stored);
  expect(block).toEqual({ type: "unknown", raw: stored });
  expect(ContentBlock.encode(block)).toEqual(stored);
});

test.each([null, 7, "text", [], { type: 3 }])("%j is kept as an unknown block", (raw) => {
  expect(ContentBlock.decode(raw)).toEqual({ type: "unknown", raw });
});

test("the text of a message leaves reasoning out", () => {
  const content = [
    { type: "reasoning", text: "hm" },
    ContentBlock.text("a"),
    ContentBlock.text("b"),
  ] as const;
  expect(ChatMessage.text({ role: "assistant", content })).toBe("ab");
});
