import {
  type CallObject,
  type ChatMessage,
  ContentBlock,
  ContentSource,
  type FileBlock,
  NotFoundError,
} from "#kernel";
import { ContentPort } from "#base";
import { freezeList } from "./call-estimate.ts";

/** The files in the prompts of a run. */
export class PromptFiles {
  /** The last prompt without files. Prompts mostly grow, so only messages that it lacks are searched. */
  #searched: readonly ChatMessage[] = [];
  readonly #key: string;

  /** @param key The key of the run's tree, which stores the bytes. */
  constructor(key: string) {
    this.#key = key;
  }

  /**
   * Returns messages with the bytes of their files. A message without such files stays the same object. If there are
   * none, nothing is awaited.
   */
  read(
    messages: readonly ChatMessage[],
    call: CallObject,
  ): readonly ChatMessage[] | Promise<readonly ChatMessage[]> {
    if (this.#hasFiles(messages)) return readMessages(new ContentPort(call, this.#key), messages);
    this.#searched = freezeList(messages);
    return messages;
  }

  #hasFiles(messages: readonly ChatMessage[]): boolean {
    const searched = this.#searched;
    // A loop: the methods of a frozen list take ten times as long.
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index];
      if (message !== searched[index] && message?.content.some(namesContent)) return true;
    }
    return false;
  }
}

function readMessages(port: ContentPort, messages: readonly ChatMessage[]): Promise<readonly ChatMessage[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (!message.content.some(namesContent)) return message;
      return {
        ...message,
        content: await Promise.all(message.content.map((block) => readBlock(port, block))),
      };
    }),
  );
}

async function readBlock(port: ContentPort, block: ContentBlock): Promise<ContentBlock> {
  if (block.type === "file") return readFile(port, block);
  if (block.type !== "tool-result" || !namesContent(block)) return block;
  return { ...block, content: await Promise.all(block.content.map((inner) => readBlock(port, inner))) };
}

async function readFile(port: ContentPort, file: FileBlock): Promise<FileBlock> {
  const { source } = file;
  if (!ContentSource.is(source)) return file;
  const base64 = await port.get({ name: source.content, bytes: source.bytes });
  if (base64 === null)
    throw new NotFoundError({ what: "content of the file", id: file.name ?? source.content });
  return { ...file, source: { base64 } };
}

/** Whether a block, or a block in it, names its bytes in the content port. */
function namesContent(block: ContentBlock): boolean {
  if (block.type === "tool-result") return block.content.some(namesContent);
  return block.type === "file" && ContentSource.is(block.source);
}

/**
 * Returns a message of an earlier turn, with its files replaced by their names, because their bytes were removed with
 * their tree. A message without such files stays the same object.
 */
export function nameFiles(message: ChatMessage): ChatMessage {
  if (!message.content.some(namesContent)) return message;
  return { ...message, content: message.content.map(nameFile) };
}

function nameFile(block: ContentBlock): ContentBlock {
  if (block.type === "tool-result") return { ...block, content: block.content.map(nameFile) };
  if (block.type !== "file" || !ContentSource.is(block.source)) return block;
  const { name, mediaType, source } = block;
  const label = [...(name === undefined ? [] : [name]), mediaType, `${source.bytes} bytes`].join(", ");
  return ContentBlock.text(`[a file of an earlier turn, not shown again: ${label}]`);
}
