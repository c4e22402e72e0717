/** One message of a stream of server-sent events. */
export interface SentEvent {
  /** Default `message`. */
  readonly event: string;
  readonly data: string;
}

/** The messages of a response, as they come. Comments keep it alive and are passed over. */
export async function* sentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent, void> {
  let rest = "";
  for await (const piece of readBodyText(body)) {
    rest += piece;
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const sent = parseEvent(block);
      if (sent) yield sent;
    }
  }
}

/** Yields the text of a response as it arrives. Not all browsers can iterate a stream. */
export async function* readBodyText(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseEvent(block: string): SentEvent | null {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, name = "", value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return data.length === 0 ? null : { event, data: data.join("\n") };
}
