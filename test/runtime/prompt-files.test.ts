import { ChatMessage, type CallObject } from "#kernel";
import { expect, test } from "vitest";
import { PromptFiles } from "../../src/run/read-files.ts";

const call: CallObject = () => Promise.reject(new Error("the tree was asked for bytes"));

/** Returns a message that counts how often its content is read. */
function countReads(text: string): { readonly message: ChatMessage; readonly reads: () => number } {
  const { content } = ChatMessage.user(text);
  let reads = 0;
  const message: ChatMessage = {
    role: "user",
    get content() {
      reads += 1;
      return content;
    },
  };
  return { message, reads: () => reads };
}

const image: ChatMessage = {
  role: "user",
  content: [{ type: "file", mediaType: "image/png", source: { content: "c1", bytes: 3 } }],
};

test("a message without files is searched once while the prompt grows", async () => {
  const files = new PromptFiles("tree");
  const first = countReads("first");
  await files.read([first.message], call);
  const longer = [first.message, ChatMessage.user("second")];
  expect(files.read(longer, call)).toBe(longer);
  expect(first.reads()).toBe(1);
});

test("a message that takes the place of another is searched", async () => {
  const files = new PromptFiles("tree");
  await files.read([ChatMessage.user("first"), ChatMessage.user("second")], call);
  await expect(async () => files.read([ChatMessage.user("first"), image], call)).rejects.toThrow(
    "the tree was asked for bytes",
  );
});

test("a list that its owner changes later is compared as it was", async () => {
  const files = new PromptFiles("tree");
  const list = [ChatMessage.user("first")];
  await files.read(list, call);
  list[0] = image;
  await expect(async () => files.read(list, call)).rejects.toThrow("the tree was asked for bytes");
});
