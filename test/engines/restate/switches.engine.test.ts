import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createRuntime } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { createCaller } from "./fixtures/caller.ts";
import { eventually, killWorkers, startWorker } from "./worker-process.ts";
import { expectWithin } from "../../effort.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterEach(killWorkers);

afterAll(() => server[Symbol.asyncDispose]());

/** Receives the calls of the workers: when, and by which process. */
class Receiver {
  readonly calls: { readonly at: number; readonly process: string }[] = [];
  readonly #http: Server;

  constructor() {
    this.#http = createServer(({ url = "" }, response) => {
      this.calls.push({ at: performance.now(), process: url });
      response.end();
    });
  }

  async listen(): Promise<string> {
    const port = await freePort();
    this.#http.listen(port, "127.0.0.1");
    await once(this.#http, "listening");
    return `http://127.0.0.1:${port}`;
  }

  callsOf(pid: number | undefined): number {
    return this.calls.filter(({ process: caller }) => caller === `/${pid}`).length;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections();
    return new Promise((resolve) => this.#http.close(() => resolve()));
  }
}

test("12.1 a disabled agent begins no step on either of two workers a second later, and goes on when it is enabled", async () => {
  await using receiver = new Receiver();
  const address = await receiver.listen();
  const caller = createCaller(address);
  const engine = restate({ ...server, log: () => undefined });
  await using runtime = createRuntime({ agents: [caller], engine });
  // A run remains with the worker that served last when it started.
  const startOnItsOwn = async () => {
    const port = String(await freePort());
    const worker = await startWorker("caller-worker.ts", [server.ingress, server.admin, port, address]);
    const run = await runtime.start(caller, "go");
    await eventually(() => receiver.callsOf(worker.process.pid) > 3);
    return { run, pid: worker.process.pid };
  };
  const both = [await startOnItsOwn(), await startOnItsOwn()];

  await runtime.switches.disable({ agent: caller.id });
  const disabledAt = performance.now();
  for (const { run } of both) await eventually(async () => (await run.status()) === "paused");
  const latency = Math.max(...receiver.calls.map(({ at }) => at)) - disabledAt;
  process.stdout.write(`the last step began ${Math.round(latency)} ms after the switch\n`);
  expectWithin(1_000, latency);

  const before = both.map(({ pid }) => receiver.callsOf(pid));
  await runtime.switches.enable({ agent: caller.id });
  for (const [index, { pid }] of both.entries())
    await eventually(() => receiver.callsOf(pid) > (before[index] ?? 0));
  for (const { run } of both) {
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: "cancelled" });
  }
});
