import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { agent, createRuntime, Json, type Agent } from "reeve";
import {
  BacklogFullError,
  decodeError,
  MemoryBlock,
  MessageId,
  TopicId,
  TreeId,
  type ApprovalId,
} from "#kernel";
import { memoryStore } from "reeve/stores/memory";
import { manualClock, say, scriptedModel } from "reeve/testing";
import { describe, expect, test } from "vitest";
import { MemoryCache } from "../../src/agents/middleware/memory-cache.ts";
import { FairSemaphore } from "../../src/server/limits.ts";
import type { ReplyOf, RunReply } from "../../src/tree/protocol.ts";
import { defaultBacklogs, type BacklogLimits } from "../../src/tree/state/backlogs.ts";
import { maxHeldEvents } from "../../src/tree/state/trim-events.ts";
import { propertyRuns } from "../effort.ts";
import { ask } from "../server/ask.ts";
import { TestServer } from "../server/test-server.ts";
import { LazyTree } from "../tree/lazy-tree.ts";
import { TalkingTree } from "../tree/talking-tree.ts";

/** A bound that is tried with many limits. A fixed limit is tried alone. */
interface Bound {
  /** The first cell of its row in docs/semantics.md. */
  readonly row: string;
  readonly limits: fc.Arbitrary<number> | number;
  /** Adds one more than the limit allows. Returns how much was accepted or, if the oldest go, how much is held. */
  readonly fill: (limit: number) => Promise<number> | number;
}

/** So much is never refused: there is no limit. */
const endless = 100;

const few = fc.integer({ min: 1, max: 6 });

/** Adds one after the other, until one is refused as it should be. Returns the number of the others. */
async function countUntil(
  refusal: (error: unknown) => boolean,
  add: (number: number) => unknown,
): Promise<number> {
  for (let number = 0; number < endless; number++)
    try {
      await add(number);
    } catch (error) {
      if (!refusal(error)) throw error;
      return number;
    }
  return Infinity;
}

const isFull = (error: unknown): boolean => error instanceof BacklogFullError;
const isRangeError = (error: unknown): boolean => error instanceof RangeError;

/** Asks until the answer has this status. Returns the number of the others. */
async function countUntilStatus(
  status: number,
  send: (number: number) => Promise<{ readonly status: number }>,
): Promise<number> {
  for (let number = 0; number < endless; number++) if ((await send(number)).status === status) return number;
  return Infinity;
}

class FloodedTree extends LazyTree {
  constructor(backlogs: Partial<BacklogLimits>) {
    super({ maxAgents: 2, deps: { backlogs: { ...defaultBacklogs, ...backlogs } } });
  }

  signal(): void {
    this.call("signal", { run: this.root, name: "n", data: "x", messageId: MessageId.of(this.id()), at: 5 });
  }

  emit(topic: TopicId): void {
    const message = { topic, data: "x", messageId: MessageId.of(this.id()) };
    const { result } = this.call("emit", { ...this.from(this.root), ...message });
    const { reply } = Json.as<RunReply<ReplyOf<"emit">>>(result);
    if (reply) throw decodeError(reply.error);
  }

  /** Every other one is a question of a tool. Returns the decision, null while there is none. */
  requestApproval(number: number): Json {
    const id = Json.as<ApprovalId>(`${this.root}#approval:${number}`);
    const question = { id, tool: "mail", risk: "high", arguments: {}, hash: "h", why: "w" } as const;
    const { result } = this.call("requestApproval", {
      ...this.from(this.root),
      approval: { ...question, expiresAt: 99, ...(number % 2 === 1 && { asks: true }) },
    });
    return Json.as<{ readonly reply: Json }>(result).reply;
  }
}

const signalLength = JSON.stringify({ kind: "signal", name: "n", data: "x" }).length;
const worker: Agent = agent({ name: "worker", model: scriptedModel([say("done")]) });

async function countSchedules(limits: object, whose: (number: number) => string): Promise<number> {
  await using runtime = createRuntime({ agents: [worker], store: memoryStore(), schedules: limits });
  return await countUntil(isRangeError, (number) =>
    runtime.schedules.set({
      id: `s${number}`,
      cron: "0 0 1 1 *",
      agent: worker,
      input: "go",
      tenant: "acme",
      user: whose(number),
    }),
  );
}

/** Returns the fewest seconds between two ticks that are accepted, of those that divide a minute. */
async function findShortestInterval(scheduleIntervalS: number): Promise<number> {
  await using site = await TestServer.open({ agents: [worker], limits: { scheduleIntervalS } });
  for (const seconds of divisors) {
    const body = { agent: "worker", input: "go", cron: `*/${seconds} * * * * *`, user: "ann" };
    const { status } = await ask(`${site.url}/schedules/s`, "PUT", { key: site.keys.acme.admin, body });
    if (status === 200) return seconds;
    expect(status).toBe(400);
  }
  return NaN;
}

const divisors = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30];

/** Settles deliveries as dead, one after the other. Returns how many are kept. The oldest must be gone. */
async function countDead(keep: number): Promise<number> {
  const { webhooks } = memoryStore();
  const partition = { tenantId: null };
  const target = { url: "https://receiver.example/", secrets: [] };
  const hook = { id: "hook", events: ["run.end"], allRuns: true, setAt: 1, revision: 1, target } as const;
  await webhooks.put(partition, hook);
  for (let seq = 1; seq <= keep + 1; seq++) {
    const delivery = { webhookId: "hook", treeId: TreeId.of("t"), seq, event: "run.end", at: seq } as const;
    await webhooks.enqueue(partition, [delivery]);
    const lease = { lease: `lease ${seq}`, now: 1_000, until: 2_000, limit: 9, perWebhook: 9, perTenant: 9 };
    for (const claimed of await webhooks.claim(lease))
      await webhooks.settle(claimed, { kind: "dead", error: "status 500", keep });
  }
  const page = await webhooks.deliveries(partition, { webhookId: "hook", status: "dead" }, { size: 99 });
  expect(page.items.map(({ seq }) => seq)).not.toContain(1);
  return page.items.length;
}

/** Uploads a text of so many bytes. */
async function countUploadedBytes(uploadBytes: number): Promise<number> {
  await using site = await TestServer.open({ agents: [worker], limits: { bodyBytes: 300, uploadBytes } });
  const frame = JSON.stringify({ agent: "worker", input: "" }).length;
  const upload = (bytes: number): Promise<{ readonly status: number }> =>
    site.post("/runs", { agent: "worker", input: "x".repeat(bytes - frame) });
  expect((await upload(uploadBytes + 1)).status).toBe(413);
  return (await upload(uploadBytes)).status < 300 ? uploadBytes : NaN;
}

const bounds: readonly Bound[] = [
  {
    row: "messages and signals that wait for a run",
    limits: few,
    fill: (inboxMessages) => {
      const tree = new FloodedTree({ inboxMessages });
      return countUntil(isFull, () => tree.signal());
    },
  },
  {
    row: "messages and signals that wait for a run",
    limits: few.map((signals) => signals * signalLength),
    fill: async (inboxCharacters) => {
      const tree = new FloodedTree({ inboxCharacters });
      return signalLength * (await countUntil(isFull, () => tree.signal()));
    },
  },
  {
    row: "messages of a topic that a run must read",
    limits: few,
    fill: (topicMessages) => {
      const tree = new FloodedTree({ topicMessages });
      const topic = TopicId.of("news", TreeId.of("t"));
      const on = { run: tree.root, topic, subscription: "s", on: true, at: 3 };
      tree.call("subscribe", on);
      return countUntil(isFull, () => tree.emit(topic));
    },
  },
  {
    row: "open approvals of a run",
    limits: few,
    fill: (openApprovals) => {
      const tree = new FloodedTree({ openApprovals });
      for (let number = 0; number < endless; number++) {
        const decision = tree.requestApproval(number);
        if (decision === null) continue;
        expect(decision).toMatchObject({ decision: "denied", by: "limit" });
        return number;
      }
      return Infinity;
    },
  },
  {
    row: "events of a tree that the store has, too",
    limits: maxHeldEvents,
    fill: () => {
      const tree = new TalkingTree();
      let most = 0;
      // One more than the limit, once the events of the tree's start are gone.
      for (let round = 0; round < 2 * maxHeldEvents; round++) {
        tree.talk(1);
        tree.store();
        most = Math.max(most, tree.held);
      }
      return most;
    },
  },
  {
    row: "schedules of a user, of a tenant",
    limits: few,
    fill: (maxPerUser) => countSchedules({ maxPerUser }, () => "ann"),
  },
  {
    row: "schedules of a user, of a tenant",
    limits: few,
    fill: (maxPerTenant) => countSchedules({ maxPerTenant }, (number) => `user${number}`),
  },
  {
    row: "time between two ticks, over HTTP",
    limits: fc.constantFrom(...divisors),
    fill: findShortestInterval,
  },
  {
    row: "webhooks of a tenant",
    limits: 20,
    fill: async () => {
      await using runtime = createRuntime({ agents: [], store: memoryStore() });
      return await countUntil(isRangeError, (number) =>
        runtime.webhooks.set({ id: `hook${number}`, url: "https://receiver.example/", tenant: "acme" }),
      );
    },
  },
  { row: "dead deliveries of a webhook", limits: few, fill: countDead },
  {
    row: "requests without a valid key, a minute",
    limits: few,
    fill: async (failuresPerMinute) => {
      await using site = await TestServer.open({ agents: [worker], limits: { failuresPerMinute } });
      return await countUntilStatus(429, (number) => site.get("/agents", { key: `guess-${number}` }));
    },
  },
  {
    row: "bytes of an upload, uploads at once",
    limits: fc.integer({ min: 400, max: 5_000 }),
    fill: countUploadedBytes,
  },
  {
    row: "bytes of an upload, uploads at once",
    limits: few,
    fill: (uploads) => {
      const semaphore = new FairSemaphore("uploads", uploads);
      return countUntil(
        (error) => String(error).includes("too many uploads at once"),
        (number) => semaphore.take(`tenant${number}`),
      );
    },
  },
  {
    row: "characters of a memory block",
    limits: 50_000,
    fill: (limit) => {
      const edit = (text: string) => ({ id: "e", text, version: 0, limit, runId: null, at: 1 });
      expect(() => MemoryBlock.check("notes", Json.as(edit("x".repeat(limit + 1))))).toThrow(TypeError);
      MemoryBlock.check("notes", Json.as(edit("x".repeat(limit))));
      return limit;
    },
  },
  {
    row: "facts of a user, with their earlier values",
    limits: few,
    fill: (maxFacts) => {
      const { memory } = memoryStore();
      const owner = { kind: "user", userId: null } as const;
      return countUntil(isRangeError, (number) => {
        const held = { validFrom: number, validTo: null, recordedAt: 1, runId: null };
        const fact = { id: `f${number}`, key: "city", value: number, ...held, labels: { untrusted: false } };
        return memory.remember({ tenantId: null }, owner, Json.as(fact), { maxFacts });
      });
    },
  },
  {
    row: "answers in the response cache",
    limits: few,
    fill: (max) => {
      const cache = new MemoryCache({ max, maxBytes: 64_000_000 });
      const keys = Array.from({ length: max + 1 }, (_, number) => `answer ${number}`);
      for (const key of keys) cache.put(key, { value: key, until: Infinity });
      const clock = manualClock();
      const held = keys.filter((key) => cache.get(key, clock) !== undefined);
      expect(held).not.toContain(keys[0]);
      return held.length;
    },
  },
];

const page = readFileSync("docs/semantics.md", "utf8");
const rows = page
  .slice(page.indexOf("## 14. Bounds"))
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .slice(2)
  .map((line) => line.split("|")[1]?.trim());

test("each row of the table of bounds is tried, and everything that is tried has a row", () => {
  expect(new Set(bounds.map(({ row }) => row))).toEqual(new Set(rows));
});

describe.each(bounds)("$row", ({ limits, fill }) => {
  test("as much as the limit allows is accepted, and no more", async () => {
    const all = typeof limits === "number" ? fc.constant(limits) : limits;
    const filled = fc.asyncProperty(all, async (limit) => {
      expect(await fill(limit)).toBe(limit);
    });
    await fc.assert(filled, { numRuns: typeof limits === "number" ? 1 : propertyRuns(20) });
  });
});
