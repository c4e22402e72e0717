import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Json } from "reeve";

/** A report of an agent's step, which then waits for permission to continue. */
export interface Word {
  readonly who: string;
  /** The reporting process. */
  readonly pid: number;
  /** Lets the step go on, with this answer. */
  readonly answer: (text: string) => void;
}

/** Receives reports of agents, wherever they run, and holds each step until it may continue. */
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

  /** Returns the first matching report, now or later. */
  async word(fits: (word: Word) => boolean): Promise<Word> {
    for (;;) {
      const word = this.words.find(fits);
      if (word) return word;
      await this.#news.promise;
    }
  }

  /** Resolves when there are this many reports of this kind. */
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
