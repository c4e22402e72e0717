import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Json } from "reeve";

/** What a step of an agent tells from its worker, and waits for the word to go on. */
export interface Word {
  readonly who: string;
  /** The process that says it. */
  readonly pid: number;
  /** Lets the step go on, with this answer. */
  readonly answer: (text: string) => void;
}

/** Hears what agents do, wherever they run, and holds each step until it is told to go on. */
export class Office implements AsyncDisposable {
  readonly words: Word[] = [];
  readonly #server: Server;
  #news = Promise.withResolvers<void>();

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => void this.#hear(request, response));
  }

  static async open(): Promise<Office> {
    const office = new Office(createServer().listen(0, "127.0.0.1"));
    await once(office.#server, "listening");
    return office;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`;
  }

  /** The first word that fits, now or when it comes. */
  async word(fits: (word: Word) => boolean): Promise<Word> {
    for (;;) {
      const word = this.words.find(fits);
      if (word) return word;
      await this.#news.promise;
    }
  }

  /** Returns when so many words of this kind are there. */
  async count(who: string, wanted: number): Promise<readonly Word[]> {
    for (;;) {
      const words = this.words.filter((word) => word.who === who);
      if (words.length >= wanted) return words;
      await this.#news.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server.close(), "close");
    this.#server.closeAllConnections();
    await closed;
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { who, pid } = Json.as<Pick<Word, "who" | "pid">>(JSON.parse(body));
    this.words.push({ who, pid, answer: (text) => void response.end(text) });
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}
