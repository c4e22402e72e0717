import type { ChatContext } from "#kernel";
import { type ChatMiddleware, agent, concurrency } from "reeve";
import { manualModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { eventually } from "../../../src/testing/engine-suite/harness.ts";

/** A call that remains in flight until it is ended. */
interface OpenCall {
  readonly name: string;
  readonly end: () => void;
}

/** Runs all pending microtasks and callbacks. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

/** Makes calls through middleware, and records those in flight. */
class Calls {
  readonly open: OpenCall[] = [];
  readonly notes: string[] = [];
  readonly #layer: ChatMiddleware;

  constructor(layer: ChatMiddleware) {
    this.#layer = layer;
  }

  make(tenantId: string, name: string, signal = new AbortController().signal): Promise<void> {
    const note = (_: string, decision: string): void => void this.notes.push(decision);
    const scope = { tenantId, signal, clock: { now: () => 0 }, note };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that the layer reads
    const context = { scope } as unknown as ChatContext;
    return this.#layer.process(context, () => new Promise((end) => void this.open.push({ name, end })));
  }

  /** Ends a call, and lets waiting calls begin. */
  async end(name: string): Promise<void> {
    const index = this.open.findIndex((call) => call.name === name);
    this.open.splice(index, 1)[0]?.end();
    await settle();
  }

  get names(): readonly string[] {
    return this.open.map(({ name }) => name);
  }
}

const create = (max: number): Calls => new Calls(concurrency({ key: crypto.randomUUID(), max }));

test("no more calls than the limit are in flight, and tenants take turns", async () => {
  const calls = create(2);
  for (const name of ["a1", "a2", "a3", "a4", "a5"]) void calls.make("acme", name);
  void calls.make("other", "b1");
  await settle();
  expect(calls.names).toEqual(["a1", "a2"]);
  await calls.end("a1");
  await calls.end("a2");
  // The other tenant came last, and waits for one call of the first tenant, not for three.
  expect(calls.names).toEqual(["a3", "b1"]);
  await calls.end("b1");
  await calls.end("a3");
  expect(calls.names).toEqual(["a4", "a5"]);
  expect(calls.notes).toHaveLength(4);
});

test("a cancelled call leaves the queue, and a call that ends or fails frees its place", async () => {
  const calls = create(1);
  const gone = new AbortController();
  void calls.make("acme", "a1");
  const waiting = calls.make("acme", "a2", gone.signal);
  void calls.make("acme", "a3");
  await settle();
  gone.abort(new Error("cancelled"));
  await expect(waiting).rejects.toThrow("cancelled");
  await calls.end("a1");
  expect(calls.names).toEqual(["a3"]);
  await calls.end("a3");
  const done = calls.make("acme", "a4");
  await settle();
  await calls.end("a4");
  await done;
  expect(calls.notes).toHaveLength(1);
});

test("layers with the same key share the smallest of their limits", async () => {
  const key = crypto.randomUUID();
  const [wide, narrow] = [new Calls(concurrency({ key, max: 5 })), new Calls(concurrency({ key, max: 1 }))];
  void wide.make("acme", "a1");
  void narrow.make("acme", "a2");
  await settle();
  expect([wide.names, narrow.names]).toEqual([["a1"], []]);
  await wide.end("a1");
  await settle();
  expect(narrow.names).toEqual(["a2"]);
  expect(() => concurrency({ key, max: 0 })).toThrow(RangeError);
});

test("a run cancelled while it waits for a place ends without taking one", async () => {
  const model = manualModel();
  const chat = [concurrency({ key: crypto.randomUUID(), max: 1 })];
  const worker = agent({ name: "worker", model, middleware: { chat } });
  await using t = testRuntime({ agents: [worker], replay: false });
  const first = await t.start(worker, "first");
  await eventually("the first is asked", () => model.calls.length === 1);
  const second = await t.start(worker, "second");
  await second.cancel();
  expect((await second.result()).status).toBe("cancelled");
  model.calls[0]?.answer("done");
  expect((await first.result()).output).toBe("done");
  const third = await t.start(worker, "third");
  await eventually("the third is asked", () => model.calls.length === 2);
  model.calls[1]?.answer("done");
  expect((await third.result()).output).toBe("done");
});
