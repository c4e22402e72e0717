import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Json } from "reeve";
import { open, type Question } from "./ask.ts";

/** One message of a stream, as an EventSource sees it. */
export interface Message {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** A stream that is read as it arrives. */
export class Subscription {
  readonly response: IncomingMessage;
  /** The messages so far. */
  readonly messages: Message[] = [];
  #rest = "";
  #isOver = false;
  #news = Promise.withResolvers<void>();

  constructor(response: IncomingMessage) {
    this.response = response;
    response.on("data", (part: string) => this.#take(part));
    response.on("close", () => {
      this.#isOver = true;
      this.#news.resolve();
    });
    // A connection that is cut is over, like one that ends.
    response.on("error", () => undefined);
  }

  static async to(url: string, question: Question): Promise<Subscription> {
    const response = await open(url, "GET", question);
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    return new Subscription(response);
  }

  /** Reads on until it is so, or until it is over. */
  async readUntil(holds: (messages: readonly Message[]) => boolean): Promise<readonly Message[]> {
    while (!holds(this.messages) && !this.#isOver) {
      await this.#news.promise;
      this.#news = Promise.withResolvers();
    }
    return this.messages;
  }

  readToEnd(): Promise<readonly Message[]> {
    return this.readUntil(() => false);
  }

  /** The connection breaks. */
  async drop(): Promise<void> {
    if (this.#isOver) return;
    const closed = once(this.response, "close");
    this.response.destroy();
    await closed;
  }

  #take(part: string): void {
    const [rest = "", ...whole] = (this.#rest + part).split("\n\n").toReversed();
    this.#rest = rest;
    for (const block of whole.toReversed()) {
      const fields = block.split("\n").filter((line) => !line.startsWith(":"));
      if (fields.length === 0) continue;
      const field = (name: string): string | undefined =>
        fields.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      this.messages.push({
        id: field("id") ?? null,
        event: field("event") ?? "message",
        data: field("data") ?? "",
      });
    }
    this.#news.resolve();
  }
}

/** Opens a live stream, which remains open. Returns its id. */
export async function openLive(url: string, key: string): Promise<string> {
  const stream = await Subscription.to(`${url}/live`, { key });
  const [opened] = await stream.readUntil((messages) => messages.length > 0);
  return Json.as<{ id: string }>(JSON.parse(opened?.data ?? "")).id;
}
