import {
  AgentId,
  ChatMessage,
  Runtime,
  type Agent,
  type ChildHandle,
  type Model,
  type RunHandle,
} from "reeve";
import { AttemptId, type Store } from "reeve/store";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { manualModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { countTries } from "./count-tries.ts";
import { StoredInvocations } from "./stored-invocations.ts";

/*
 * The cost of four shapes of runs on Restate, by handler: invocations, entries of their journals, bytes of these entries,
 * and how often the methods of objects were tried. Time costs follow these counts, but flicker; the counts do not.
 *
 * Each shape is led so that nothing depends on time:
 * 1. `result()` is asked once, after the end, in the process that started the run. Any other caller asks the tree again and
 *    again, as often as time passes.
 * 2. Children end one after the other. Their parent is told of each alone, which is the dearest case: of children that
 *    end together it may be told at once.
 * 3. A slow step ends a moment after the store has its beginning. So each step is one batch of events.
 * 4. No heartbeat is due and no run leaves the worker: both depend on how long a run takes.
 * 5. The children keep their content. What is erased with it are the ids of messages, in a number of values that
 *    depends on the ids, which are random.
 */

/** The cost of the calls of one handler together. */
interface Bar {
  readonly invocations: number;
  readonly entries: number;
  /** Deviation of the number of entries, which depends on random ids. Default: 0. */
  readonly spread?: number;
  /** For a method, the number of tries: the engine calls it again after fetching a value that it read. */
  readonly tries: number | null;
  readonly bytes: number;
}

/** Bytes vary by the digits of durations and the order of children, and by entries that depend on ids. */
const byteTolerance = 0.02;
const spreadTolerance = 0.06;

/*
 * A change that raises a count fails here. Raise the count and say why in the line above it; lower it if it fell.
 *
 * The journal of a run: its input and output, two entries for each step and for its end, three for each other call of the
 * tree, one for a heartbeat, one for each wake-up. The journal of a method: its input and output, two entries for its time, two for
 * each value it reads, one for each it writes, two for each message it sends. The values of a tree and its root are one. A method is tried once more for each
 * round of values that it has to wait for, so two tries are the least of one that reads.
 */
const bars: Readonly<Record<string, Readonly<Record<string, Bar>>>> = {
  "a run of ten plain steps stays within its counted limits": {
    // 20 entries are steps. Plain steps do not call the tree. The output is the result: the caller waits for that, and asks
    // no tree.
    "run/run": { invocations: 1, entries: 25, tries: null, bytes: 4_015 },
    // Two rounds: the values and the time, then the launch of the root. Its start event has the limits.
    "tree/open": { invocations: 1, entries: 10, tries: 3, bytes: 5_001 },
    "tree/end": { invocations: 1, entries: 12, tries: 2, bytes: 4_863 },
  },
  "a run of ten gated steps stays within its counted limits": {
    // As many entries as with plain steps: the gate is called inside a step, outside the journal.
    "run/run": { invocations: 1, entries: 25, tries: null, bytes: 6_908 },
    "tree/open": { invocations: 1, entries: 10, tries: 3, bytes: 5_001 },
    // One call per step, which also settles the previous one. It writes up to four events.
    "tree/begin": { invocations: 10, entries: 80, tries: 20, bytes: 74_351 },
    // As many entries as without calls: that the last call is settled is in the same value.
    "tree/end": { invocations: 1, entries: 12, tries: 2, bytes: 6_588 },
  },
  "a parent with 20 children of 5 steps stays within its counted limits": {
    // 200 entries are steps, 6 are calls: one for all spawns, one wait; 42 are 21 ends, which are made inside a step. The
    // wake-ups of the parent bring the ends of its children.
    "run/run": { invocations: 21, entries: 330, tries: null, bytes: 72_932 },
    "tree/open": { invocations: 1, entries: 10, tries: 3, bytes: 5_045 },
    // Children that are spawned in one moment are one call, and their launches one try more. The ids of their tasks are
    // remembered in 64 values, of which 12 to 20 are read and written, with three entries each.
    "tree/batch": { invocations: 1, entries: 160, spread: 16, tries: 3, bytes: 74_601 },
    // The parent waits once: it is told of each child while it waits, and ends with the last.
    "tree/wait": { invocations: 1, entries: 8, tries: 2, bytes: 6_893 },
    // Each end of a child wakes the parent. What the wake-up brings is also kept, until the parent's next call. So the last
    // call, which is the parent's end, clears 20 values.
    "tree/end": { invocations: 21, entries: 412, tries: 42, bytes: 156_053 },
  },
  "a stored and watched run of 5 slow steps stays within its counted limits": {
    // The step that waits for the reader comes before the five.
    "run/run": { invocations: 1, entries: 17, tries: null, bytes: 4_682 },
    "tree/open": { invocations: 1, entries: 12, tries: 3, bytes: 5_197 },
    // The events of a step are in the state of the tree, and in the order to its projector.
    "tree/begin": { invocations: 5, entries: 50, tries: 10, bytes: 46_262 },
    "tree/end": { invocations: 1, entries: 16, tries: 2, bytes: 8_695 },
    // Seven batches of events: of the start, of each step, of the end. Then one to erase and one to destroy the key.
    "projector/take": { invocations: 9, entries: 24, tries: null, bytes: 13_313 },
    // The start and the events soon after it are fetched together. Every other batch comes with its order.
    "tree/drain": { invocations: 1, entries: 13, tries: 4, bytes: 5_524 },
    "tree/erase": { invocations: 1, entries: 42, tries: 4, bytes: 4_415 },
    // A reader of the store asks the tree once whether it is over: after the end of its root.
    "tree/events": { invocations: 1, entries: 4, tries: 2, bytes: 1_648 },
    // The result is asked for when its content is erased: then the tree is asked.
    "tree/result": { invocations: 1, entries: 12, tries: 5, bytes: 2_495 },
  },
};

/*
 * The tries of one call of a method or query. Two is the least: the first try says what it reads. A method that
 * learns from what it has read what it must read next needs one more. Lower is better: each try is a round trip.
 */
const triesPerCall: Readonly<Record<string, number>> = {
  "tree/approvals": 2,
  "tree/cancel": 2,
  "tree/wait": 2,
  "tree/take": 2,
  "tree/status": 2,
  // Each of these counts once: whether it came before is read under a name that follows from its id.
  "tree/pause": 3,
  "tree/resume": 3,
  "tree/topUp": 3,
  "tree/signal": 3,
  "tree/injectMessage": 3,
  // Reads the attempt in doubt.
  "tree/reconcile": 3,
  // Reads the receiver, then whether the message came before.
  "tree/send": 3,
  // Reads whether it came before, then who waits for a slot.
  "tree/reprioritize": 3,
  "tree/ledger": 2,
};

/** Calls that these tests themselves make to lead a run, and one that a worker makes twice a second for all its runs. */
const ignored = new Set(["tree/status", "switches/read"]);

const poll = { interval: 20 };
const payload = "x".repeat(100);

let server: RestateServer;

beforeAll(async () => {
  // In one partition messages arrive in the order in which they were sent: a call that is followed by another is not
  // seen as complete before that one is seen.
  server = await restateServer({ partitions: 1 });
});

afterAll(() => server[Symbol.asyncDispose]());

test("a run of ten plain steps stays within its counted limits", async () => {
  const plain: Agent = {
    id: AgentId.of("plain"),
    async run(ctx) {
      for (let step = 0; step < 10; step++) await ctx.step("work", () => payload);
    },
  };
  await using shape = await Shape.serve("plain", [plain]);
  const run = await shape.runtime.start(plain, "go");
  await shape.waitForEnd(run, { runs: 1 });
  await shape.compare("a run of ten plain steps stays within its counted limits");
});

test("a run of ten gated steps stays within its counted limits", async () => {
  const model: Model = {
    id: "instant",
    generate: async () => ({
      message: ChatMessage.assistant(payload),
      finishReason: "stop",
      usage: { input: 10, output: 5 },
    }),
  };
  const gated: Agent = {
    id: AgentId.of("gated"),
    model,
    async run(ctx) {
      for (let step = 0; step < 10; step++) await ctx.llm([ChatMessage.user("go on")]);
    },
  };
  await using shape = await Shape.serve("gated", [gated]);
  const run = await shape.runtime.start(gated, "go");
  await shape.waitForEnd(run, { runs: 1 });
  await shape.compare("a run of ten gated steps stays within its counted limits");
});

test("a parent with 20 children of 5 steps stays within its counted limits", async () => {
  const releases: (() => void)[] = [];
  let joined = 0;
  const child: Agent = {
    id: AgentId.of("child"),
    async run(ctx) {
      await ctx.step("work", () => new Promise<string>((resolve) => releases.push(() => resolve(payload))));
      for (let step = 1; step < 5; step++) await ctx.step("work", () => payload);
    },
  };
  const parent: Agent = {
    id: AgentId.of("parent"),
    async run(ctx) {
      const spawn = (): Promise<ChildHandle> => ctx.spawn(child, "go", { retention: "permanent" });
      const children = await Promise.all(Array.from({ length: 20 }, spawn));
      await Promise.all(children.map((one) => ctx.join(one).then(() => joined++)));
    },
  };
  await using shape = await Shape.serve("children", [parent, child]);
  const run = await shape.runtime.start(parent, "go", { spawn: { maxAgents: 21 } });
  await expect.poll(() => releases.length, poll).toBe(20);
  for (const [index, release] of releases.entries()) {
    await expect.poll(() => run.status(), poll).toBe("waiting");
    release();
    await expect.poll(() => joined, poll).toBe(index + 1);
  }
  await shape.waitForEnd(run, { runs: 21 });
  await shape.compare("a parent with 20 children of 5 steps stays within its counted limits");
});

test("a stored and watched run of 5 slow steps stays within its counted limits", async () => {
  const model = manualModel();
  const read = Promise.withResolvers<string>();
  const slow: Agent = {
    id: AgentId.of("slow"),
    model,
    async run(ctx) {
      await ctx.step("read", () => read.promise);
      for (let step = 0; step < 5; step++) await ctx.llm([ChatMessage.user("go on")]);
    },
  };
  const store = await sqliteStore({ path: ":memory:" });
  await using shape = await Shape.serve("stored", [slow], store);
  const { runtime } = shape;
  const run = await runtime.start(slow, "go", { retention: "run" });
  await expect.poll(async () => (await runtime.runs.list()).items.length, poll).toBe(1);
  await shape.waitForIdle();
  const types: string[] = [];
  const watching = (async () => {
    for await (const { type } of run.events()) types.push(type);
  })();
  await expect.poll(() => types.length, poll).toBeGreaterThan(0);
  await shape.waitForIdle();
  await waitForNextBatch();
  read.resolve(payload);
  for (let step = 0; step < 5; step++) {
    await expect.poll(() => types.filter((type) => type === "model.start").length, poll).toBe(step + 1);
    await shape.waitForIdle();
    await waitForNextBatch();
    model.calls[step]?.answer(payload);
  }
  await watching;
  // The last that happens to a tree, once its content is erased.
  const hasErased = async (): Promise<boolean> =>
    (await runtime.audit.read()).some(({ kind }) => kind === "retention");
  await expect.poll(hasErased, poll).toBe(true);
  await shape.waitForEnd(run, { runs: 1 });
  await shape.compare("a stored and watched run of 5 slow steps stays within its counted limits");
  await store[Symbol.asyncDispose]();
});

test("a call to a run from outside makes at most as many tries as its bar", async () => {
  const waiting: Agent = { id: AgentId.of("waiting"), run: (ctx) => ctx.waitFor("never") };
  await using shape = await Shape.serve("outside", [waiting]);
  const run = await shape.runtime.start(waiting, "go");
  const operations: readonly (() => Promise<unknown>)[] = [
    () => run.ledger(),
    () => run.approvals(),
    () => run.send("hello"),
    () => run.signal("other"),
    () => run.steer("hurry"),
    () => run.reprioritize("high"),
    () => run.topUp({ maxTokens: 1 }),
    () => run.reconcile(AttemptId.of("none"), { input: 1, output: 1 }),
  ];
  for (const operation of operations) {
    await expect.poll(() => run.status(), poll).toBe("waiting");
    await operation();
    await shape.waitForIdle();
  }
  await run.pause();
  await run.resume();
  await run.cancel();
  await shape.compareTries();
});

/** Waits until new events form a separate batch, which is then handed over with its order. */
async function waitForNextBatch(): Promise<void> {
  const began = Date.now();
  await expect.poll(() => Date.now() - began, poll).toBeGreaterThan(100);
}

/** A worker in its own namespace, for one tree whose invocations are counted. */
class Shape {
  readonly runtime: Runtime;
  /** By object and method. */
  readonly tries: ReadonlyMap<string, number>;
  readonly #stored: StoredInvocations;

  private constructor(runtime: Runtime, tries: ReadonlyMap<string, number>, stored: StoredInvocations) {
    this.runtime = runtime;
    this.tries = tries;
    this.#stored = stored;
  }

  static async serve(namespace: string, agents: readonly Agent[], store?: Store): Promise<Shape> {
    const tries = new Map<string, number>();
    const inactivityTimeoutMs = 60 * 60_000;
    const engine = restate({ ...server, namespace, inactivityTimeoutMs, log: () => {} });
    const runtime = new Runtime({
      agents,
      engine: countTries(engine, tries),
      eraseAfterS: 1,
      ...(store && { store }),
    });
    await runtime.serve({ port: 0, deltas: null });
    const stored = new StoredInvocations(server, namespace);
    await stored.keepJournals();
    return new Shape(runtime, tries, stored);
  }

  /** Resolves when no call of an object is in progress or due. */
  async waitForIdle(): Promise<void> {
    await expect.poll(() => this.#stored.openCalls(), poll).toBe(0);
  }

  async waitForEnd(run: RunHandle, { runs }: { readonly runs: number }): Promise<void> {
    await expect.poll(() => this.#stored.completedRuns(), poll).toBe(runs);
    await this.waitForIdle();
    expect((await run.result()).status).toBe("completed");
  }

  async compare(name: string): Promise<void> {
    const expected = bars[name] ?? {};
    const found: Record<string, Bar> = {};
    for (const [handler, { invocations, entries, bytes }] of await this.#stored.listByHandler()) {
      if (ignored.has(handler)) continue;
      const { bytes: bar = 0, entries: most = 0, spread } = expected[handler] ?? {};
      const tolerance = spread === undefined ? byteTolerance : spreadTolerance;
      const isWithin = Math.abs(bytes - bar) <= bar * tolerance;
      const isSpread = spread !== undefined && Math.abs(entries - most) <= spread;
      const tries = this.tries.get(handler) ?? null;
      const counted = {
        invocations,
        entries: isSpread ? most : entries,
        ...(spread !== undefined && { spread }),
      };
      found[handler] = { ...counted, tries, bytes: isWithin ? bar : bytes };
    }
    expect(found, `A count of "${name}" has changed: change its bar and say why`).toEqual(expected);
  }

  /** Compares how often one call of a method was tried. */
  async compareTries(): Promise<void> {
    const found: Record<string, number> = {};
    for (const [handler, { invocations }] of await this.#stored.listByHandler())
      if (handler in triesPerCall) found[handler] = (this.tries.get(handler) ?? 0) / invocations;
    expect(found, "The tries of a method have changed: change its bar and say why").toEqual(triesPerCall);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime[Symbol.asyncDispose]();
  }
}
