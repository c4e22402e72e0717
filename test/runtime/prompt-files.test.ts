import { ChatMessage, type CallObject } from "#kernel";
import { expect, test } from "vitest";
import { PromptFiles } from "../../src/run/read-files.ts";

const port = {
  key: "tree",
  call: (() => Promise.reject(new Error("no content was stored"))) satisfies CallObject,
};

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

test("a message without files is searched once while the prompt grows", () => {
  const files = new PromptFiles();
  const first = countReads("first");
  files.read([first.message], port);
  const longer = [first.message, ChatMessage.user("second")];
  expect(files.read(longer, port)).toBe(longer);
  expect(first.reads()).toBe(1);
});

test("a message that takes the place of another is searched", async () => {
  const files = new PromptFiles();
  files.read([ChatMessage.user("first"), ChatMessage.user("second")], port);
  await expect(async () => files.read([ChatMessage.user("first"), image], port)).rejects.toThrow();
});

test("a list that its owner changes later is compared as it was", async () => {
  const files = new PromptFiles();
  const list = [ChatMessage.user("first")];
  files.read(list, port);
  list[0] = image;
  await expect(async () => files.read(list, port)).rejects.toThrow();
});
