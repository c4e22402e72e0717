import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { Json } from "reeve";
import { chance } from "../../../src/testing/fake-provider/chance.ts";

/** A delivery of a tool. */
interface Delivered {
  readonly tool: string;
  /** Identifies the model's request, whichever worker delivers it, however often. */
  readonly order: string;
  /** The run that brought it. */
  readonly run: string;
  /** The idempotency key: one for each step. */
  readonly key: string;
  /** The step that brought it. */
  readonly step: string;
  /** The attempt that passed the gate for it; null: it passes none. */
  readonly attempt: string | null;
  /** The execution that waited for it. */
  readonly epoch: string;
  /** The process that brought it. */
  readonly pid: number;
}

/** One delivery, as seen by the sink. */
export interface Effect extends Delivered {
  readonly startedAt: number;
  /** Time at which its answer was sent, or its sender was seen to have disconnected. */
  endedAt: number;
  /** False: its key had been applied before. */
  readonly applied: boolean;
}

/** The witness of effects: takes every delivery down, applies each key once, and answers after a moment. */
export class EffectSink implements AsyncDisposable {
  readonly effects: Effect[] = [];
  /** Words that only the answers hold: they must not be in any file. */
  readonly words: string[] = [];
  readonly #server: Server;
  readonly #seed: string;
  readonly #mostMs: number;
  readonly #answers = new Map<string, string>();

  private constructor(server: Server, seed: string, mostMs: number) {
    this.#server = server;
    this.#seed = seed;
    this.#mostMs = mostMs;
    server.keepAliveTimeout = 0;
    server.on("request", (request, response) => void this.#take(request, response));
  }

  /** Answers after at most so many milliseconds. */
  static async open(seed: string, mostMs: number): Promise<EffectSink> {
    const sink = new EffectSink(createServer().listen(0, "127.0.0.1"), seed, mostMs);
    await once(sink.#server, "listening");
    return sink;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server.close(), "close");
    this.#server.closeAllConnections();
    await closed;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort()).on("error", () => gone.abort());
    let body = "";
    try {
      for await (const chunk of request) body += String(chunk);
    } catch {
      return;
    }
    // Disconnected senders are noticed before a new delivery counts.
    await new Promise((resolve) => setImmediate(resolve));
    const delivered = Json.as<Delivered>(JSON.parse(body));
    const effect: Effect = {
      ...delivered,
      startedAt: Date.now(),
      endedAt: Infinity,
      applied: !this.#answers.has(delivered.key),
    };
    this.effects.push(effect);
    const dice = chance(`${this.#seed} ${delivered.key}`);
    const known = this.#answers.get(delivered.key) ?? `word-${dice.word(20)}`;
    if (effect.applied) this.words.push(known);
    this.#answers.set(delivered.key, known);
    await delay(dice.integer(Math.ceil(this.#mostMs / 2), this.#mostMs), undefined, {
      signal: gone.signal,
    }).catch(() => undefined);
    response.end(known);
    effect.endedAt = Date.now();
  }
}
