/** One message of a stream of server-sent events. */
export interface SentEvent {
  /** Default `message`. */
  readonly event: string;
  readonly data: string;
}

/** The messages of a response, as they come. Comments keep it alive and are passed over. */
export async function* sentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const sent = read(block);
      if (sent) yield sent;
    }
  }
}

function read(block: string): SentEvent | null {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, name = "", value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return data.length === 0 ? null : { event, data: data.join("\n") };
}
