import { expect, test } from "vitest";
import { type AuditStore, TenantId } from "#kernel";
import { memoryStore } from "reeve/stores/memory";
import { AuditWriter } from "../../../src/runtime/audit/audit-writer.ts";
import type { AuditNote } from "../../../src/runtime/audit/chain.ts";
import { ring } from "./random-logs.ts";

const tenant = { tenantId: TenantId.of("acme") };
const keys = { of: async () => ring };
const note = (source: string): AuditNote => ({ at: 1, kind: "spend", data: {}, source });

/** Of a memory store, each write a turn later, and counted. `down`: whether it fails. */
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
    known: (...asked) => audit.known(...asked),
    read: (...asked) => audit.read(...asked),
    head: (...asked) => audit.head(...asked),
  };
}

const sourcesIn = async (audit: AuditStore): Promise<readonly string[]> =>
  (await audit.read(tenant, 0, 1_000)).map(({ source }) => source);

test("what many have to tell at once is written at once", async () => {
  const audit = slowAudit();
  const writer = new AuditWriter({ audit, keys, now: () => 0 });
  const sources = Array.from({ length: 200 }, (_, index) => `tree-${index}`);
  await Promise.all(sources.map((source) => writer.record(tenant, [note(source)])));
  expect(await sourcesIn(audit)).toEqual(sources);
  expect(audit.writes).toBe(1);
});

test("whoever comes while others are written is written next, with everybody else who has come", async () => {
  const audit = slowAudit();
  const writer = new AuditWriter({ audit, keys, now: () => 0 });
  const first = writer.record(tenant, [note("first")]);
  await expect.poll(() => audit.writes).toBe(1);
  const others = ["a", "b", "c"].map((source) => writer.record(tenant, [note(source)]));
  await Promise.all([first, ...others]);
  expect(await sourcesIn(audit)).toEqual(["first", "a", "b", "c"]);
  expect(audit.writes).toBe(2);
});

test("what is told again while it waits to be written is told once", async () => {
  const audit = slowAudit();
  const writer = new AuditWriter({ audit, keys, now: () => 0 });
  await Promise.all(["a", "b", "b", "c", "a"].map((source) => writer.record(tenant, [note(source)])));
  expect(await sourcesIn(audit)).toEqual(["a", "b", "c"]);
});

test("what cannot be written fails for everybody who waits for it, and may be told again", async () => {
  const audit = slowAudit();
  const writer = new AuditWriter({ audit, keys, now: () => 0 });
  audit.down = true;
  const told = await Promise.allSettled(["a", "b"].map((source) => writer.record(tenant, [note(source)])));
  expect(told.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  audit.down = false;
  await writer.record(tenant, [note("b")]);
  expect(await sourcesIn(audit)).toEqual(["b"]);
});
