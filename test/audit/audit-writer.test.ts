import { expect, test } from "vitest";
import { type AuditStore, StoreRejectionError, TenantId } from "#kernel";
import { memoryStore } from "reeve/stores/memory";
import { AuditWriter } from "../../src/audit/audit-writer.ts";
import { ChainKeys, type AuditNote } from "../../src/audit/chain.ts";
import { verifyChain } from "../../src/audit/verify.ts";
import { ring } from "./random-logs.ts";

const tenant = { tenantId: TenantId.of("acme") };
const keys = { getRing: async () => ring };
const note = (source: string): AuditNote => ({ at: 1, kind: "spend", data: {}, source });

/** A memory store whose writes are delayed by a turn and counted. `down`: whether it fails. */
function slowAudit(): AuditStore & { writes: number; down: boolean } {
  const { audit } = memoryStore();
  return {
    writes: 0,
    down: false,
    async append(partition, links) {
      this.writes += 1;
      await new Promise(setImmediate);
      if (this.down) throw new Error("down");
      await audit.append(partition, links);
    },
    findRecorded: (...asked) => audit.findRecorded(...asked),
    read: (...asked) => audit.read(...asked),
    head: (...asked) => audit.head(...asked),
    list: (...asked) => audit.list(...asked),
    check: (...asked) => audit.check(...asked),
    keepCheck: (...asked) => audit.keepCheck(...asked),
  };
}

const sourcesIn = async (audit: AuditStore): Promise<readonly string[]> =>
  (await audit.read(tenant, 0, 1_000)).map(({ source }) => source);

test("concurrent records are written in one batch", async () => {
  const audit = slowAudit();
  const writer = new AuditWriter({ audit, keys, now: () => 0 });
  const sources = Array.from({ length: 200 }, (_, index) => `tree-${index}`);
  await Promise.all(sources.map((source) => writer.record(tenant, [note(source)])));
  expect(await sourcesIn(audit)).toEqual(sources);
  expect(audit.writes).toBe(1);
});

test("notes that arrive during a write are written next, in one batch", async () => {
  const audit = slowAudit();
  const writer = new AuditWriter({ audit, keys, now: () => 0 });
  const first = writer.record(tenant, [note("first")]);
  await expect.poll(() => audit.writes).toBe(1);
  const others = ["a", "b", "c"].map((source) => writer.record(tenant, [note(source)]));
  await Promise.all([first, ...others]);
  expect(await sourcesIn(audit)).toEqual(["first", "a", "b", "c"]);
  expect(audit.writes).toBe(2);
});

test("a note that the store rejects fails for its caller alone, not for others in its batch", async () => {
  const audit = slowAudit();
  const append = audit.append.bind(audit);
  audit.append = async (partition, links) => {
    if (links.some(({ source }) => source === "bad")) throw new StoreRejectionError({ reason: "22021" });
    await append(partition, links);
  };
  const writer = new AuditWriter({ audit, keys, now: () => 0 });
  const outcomes = await Promise.allSettled(
    ["a", "bad", "b"].map((source) => writer.record(tenant, [note(source)])),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(await sourcesIn(audit)).toEqual(["a", "b"]);
});

test("nothing is linked for a store that keeps no audit", async () => {
  const audit = Object.assign(slowAudit(), { keeps: false });
  await new AuditWriter({ audit, keys, now: () => 0 }).record(tenant, [note("a")]);
  expect(audit.writes).toBe(0);
});

test("a record repeated before it is written is written once", async () => {
  const audit = slowAudit();
  const writer = new AuditWriter({ audit, keys, now: () => 0 });
  await Promise.all(["a", "b", "b", "c", "a"].map((source) => writer.record(tenant, [note(source)])));
  expect(await sourcesIn(audit)).toEqual(["a", "b", "c"]);
});

test("a failed write fails for every waiting caller, and may be retried", async () => {
  const audit = slowAudit();
  const writer = new AuditWriter({ audit, keys, now: () => 0 });
  audit.down = true;
  const told = await Promise.allSettled(["a", "b"].map((source) => writer.record(tenant, [note(source)])));
  expect(told.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  audit.down = false;
  await writer.record(tenant, [note("b")]);
  expect(await sourcesIn(audit)).toEqual(["b"]);
});

/** Returns a store with only the first links of the chain. */
async function cut(audit: AuditStore, length: number): Promise<AuditStore> {
  const shorter = memoryStore().audit;
  if (length > 0) await shorter.append(tenant, await audit.read(tenant, 0, length));
  return shorter;
}

/** A store that can be replaced behind the writer's back. */
function replaceable(first: AuditStore): AuditStore & { now: AuditStore } {
  return {
    now: first,
    append(...asked) {
      return this.now.append(...asked);
    },
    findRecorded(...asked) {
      return this.now.findRecorded(...asked);
    },
    read(...asked) {
      return this.now.read(...asked);
    },
    head(...asked) {
      return this.now.head(...asked);
    },
    list(...asked) {
      return this.now.list(...asked);
    },
    check(...asked) {
      return this.now.check(...asked);
    },
    keepCheck(...asked) {
      return this.now.keepCheck(...asked);
    },
  };
}

test.each([3, 0])(
  "after a chain was cut to %i links the next link reveals it, and verify finds it",
  async (left) => {
    const audit = replaceable(memoryStore().audit);
    const writer = new AuditWriter({ audit, keys, now: () => 7 });
    await writer.record(
      tenant,
      ["a", "b", "c", "d", "e", "f"].map((source) => note(source)),
    );
    const head = await audit.head(tenant);
    expect(head?.index).toBe(5);
    audit.now = await cut(audit.now, left);
    await writer.record(tenant, [note("g")]);
    const links = await audit.read(tenant, left, 10);
    expect(links.map(({ kind, data, at }) => ({ kind, data, at }))).toEqual([
      { kind: "audit", data: { decision: "moved-back", ...head }, at: 7 },
      { kind: "spend", data: {}, at: 1 },
    ]);
    const chain = new ChainKeys("acme", ring);
    const all = await audit.read(tenant, 0, 100);
    expect(await verifyChain([all], chain)).toEqual({ ok: false, at: left, fault: "truncated" });
  },
);
