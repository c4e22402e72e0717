import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "reeve/stores/sqlite";
import { createRuntime } from "reeve";
import { type RestateServer, restate } from "reeve/engines/restate";
import type { ReaderNews, ReaderOrder } from "../fixtures/talk-readers.ts";
import { writer, type WriterNews, type WriterOrder } from "../fixtures/writer.ts";
import { freePort } from "../../../free-port.ts";

/** A separate process that sends messages and takes commands. */
class Child<News extends { readonly is: string }, Order extends object> {
  readonly process: ChildProcess;
  readonly #news: News[] = [];
  readonly #exit: Promise<never>;

  constructor(fixture: string, given: readonly string[]) {
    const script = join(import.meta.dirname, "../fixtures", fixture);
    this.process = fork(script, given, { execArgv: ["--conditions=reeve-source"] });
    this.process.on("message", (news: News) => this.#news.push(news));
    this.#exit = once(this.process, "exit").then(([code, signal]) => {
      const unheard = JSON.stringify(this.#news.map((news) => ({ ...news, latencies: undefined })));
      throw new Error(`${fixture} ended with ${code ?? signal}; unheard: ${unheard}`);
    });
    this.#exit.catch(() => undefined);
  }

  order(order: Order): void {
    this.process.send(order);
  }

  /** The next news of a kind. */
  async hear<Is extends News["is"]>(is: Is): Promise<Extract<News, { readonly is: Is }>> {
    const isSo = (news: News): news is Extract<News, { readonly is: Is }> => news.is === is;
    for (;;) {
      const news = this.#news.find(isSo);
      if (!news) {
        await Promise.race([once(this.process, "message"), this.#exit]);
        continue;
      }
      this.#news.splice(this.#news.indexOf(news), 1);
      return news;
    }
  }

  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.#exit.catch(() => undefined);
  }
}

/** A run whose model talks on request, in its own worker, watched from other processes. */
export class Talk implements AsyncDisposable {
  readonly id: string;
  readonly store: string;
  readonly #server: RestateServer;
  readonly #port: number;
  readonly #children: { kill(): Promise<void> }[] = [];
  readonly #folder: string;

  private constructor(server: RestateServer, port: number, folder: string) {
    this.#server = server;
    this.#port = port;
    this.#folder = folder;
    this.store = join(folder, "store.sqlite");
    this.id = `talk-${port}`;
  }

  /** Returns once the model has been asked. */
  static async start(server: RestateServer): Promise<{ readonly talk: Talk; readonly worker: Writer }> {
    const folder = await mkdtemp(join(tmpdir(), "reeve-talk-"));
    const talk = new Talk(server, await freePort(), folder);
    const worker = await talk.serve();
    await using store = await sqliteStore({ path: talk.store });
    await using runtime = createRuntime({ agents: [writer], engine: restate(server), store });
    await runtime.start(writer, "go", { tenant, id: talk.id });
    await worker.hear("asked");
    return { talk, worker };
  }

  /** A worker, on the port of the one before. */
  async serve(): Promise<Writer> {
    const { ingress, admin } = this.#server;
    const given = [ingress, admin, String(this.#port), this.store];
    const worker: Writer = this.#keep(new Child("writer-worker.ts", given));
    await worker.hear("serving");
    return worker;
  }

  /** Starts watchers in one process, each with its own connection. */
  readers(count: number, pace: "keen" | "stuck" = "keen"): Readers {
    const { ingress, admin } = this.#server;
    const given = [ingress, admin, this.store, this.id, tenant, String(count), pace];
    return this.#keep(new Child("talk-readers.ts", given));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()));
    await rm(this.#folder, { recursive: true });
  }

  #keep<Kind extends { kill(): Promise<void> }>(child: Kind): Kind {
    this.#children.push(child);
    return child;
  }
}

const tenant = "acme";
export type Writer = Child<WriterNews, WriterOrder>;
export type Readers = Child<ReaderNews, ReaderOrder>;
