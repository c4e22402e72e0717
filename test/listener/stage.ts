import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent } from "reeve";
import type { Engine } from "reeve/engine";
import type { Store } from "reeve/store";
import { restate, restateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { fakeProvider } from "reeve/testing";
import { startWorker, type WorkerProcess } from "../engines/restate/worker-process.ts";
import { freePort } from "../free-port.ts";
import { listener } from "./agent.ts";
import { ListeningProvider } from "./provider.ts";

/** The agent `listener` on a Restate server, with a worker in a process of its own, a provider and a database. */
export class ListenerStage implements AsyncDisposable {
  readonly provider: ListeningProvider;
  readonly agents: readonly Agent[];
  /** For a client of the worker. */
  readonly engine: Engine;
  readonly store: Store;
  readonly #start: () => Promise<WorkerProcess>;
  readonly #close: () => Promise<void>;
  #worker: WorkerProcess | null = null;

  private constructor(
    parts: Pick<ListenerStage, "provider" | "agents" | "engine" | "store">,
    start: () => Promise<WorkerProcess>,
    close: () => Promise<void>,
  ) {
    ({ provider: this.provider, agents: this.agents, engine: this.engine, store: this.store } = parts);
    this.#start = start;
    this.#close = close;
  }

  static async open(): Promise<ListenerStage> {
    await using open = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "reeve-listener-"));
    open.defer(() => rm(folder, { recursive: true, force: true }));
    const provider = new ListeningProvider();
    const { baseURL } = open.use(await fakeProvider({ script: provider.script }));
    const { ingress, admin } = open.use(await restateServer());
    const path = join(folder, "store.sqlite");
    const given = [ingress, admin, String(await freePort()), path, baseURL];
    const parts = {
      provider,
      agents: [listener(baseURL)],
      engine: restate({ ingress, admin, log: () => undefined }),
      store: await sqliteStore({ path }),
    };
    const start = (): Promise<WorkerProcess> =>
      startWorker(join(import.meta.dirname, "fixtures/worker.ts"), given);
    const kept = open.move();
    const stage = new ListenerStage(parts, start, () => kept.disposeAsync());
    stage.#worker = await start();
    return stage;
  }

  /** Kills the worker and starts another in its place. */
  async replaceWorker(): Promise<void> {
    await this.#kill();
    this.#worker = await this.#start();
  }

  async #kill(): Promise<void> {
    this.#worker?.process.kill("SIGKILL");
    await this.#worker?.exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kill();
    await this.#close();
  }
}
