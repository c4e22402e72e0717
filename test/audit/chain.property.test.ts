import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { AuditEntry } from "#kernel";
import { ChainKeys } from "../../src/audit/chain.ts";
import { type AuditVerdict, verifyChain } from "../../src/audit/verify.ts";
import { fields, flip, keys, logs, mishaps, ring } from "./random-logs.ts";
import { propertyRuns } from "../effort.ts";

const scale = propertyRuns(1_000);

/** Yields the log as a database returns it, in pages of three. */
function* pagesOf(log: readonly AuditEntry[]): Generator<readonly AuditEntry[]> {
  const stored: AuditEntry[] = JSON.parse(JSON.stringify(log));
  for (let from = 0; from < stored.length; from += 3) yield stored.slice(from, from + 3);
}

test.each(Object.entries(mishaps))("in every log, %s is detected at its position", async (_, mishap) => {
  await fc.assert(
    fc.asyncProperty(logs, async ({ log, ...places }) => {
      const { log: tampered, kept, ...expected } = mishap(log, places);
      const verdict = await verifyChain(pagesOf(tampered), keys, kept ? [kept] : []);
      expect(verdict).toMatchObject({ ok: false, ...expected });
    }),
    { numRuns: scale },
  );
});

test.each(fields)("any flipped bit of %s is detected", async (field) => {
  await fc.assert(
    fc.asyncProperty(logs, fc.nat(), async ({ log, i }, bit) => {
      const tampered = log.map((link, index) => (index === i ? flip(link, field, bit) : link));
      expect(await verifyChain(pagesOf(tampered), keys)).toMatchObject({ ok: false, at: i });
    }),
    { numRuns: 100 },
  );
});

test("an unchanged log has no fault, whichever of its heads was kept", async () => {
  let checked = 0;
  await fc.assert(
    fc.asyncProperty(logs, async ({ log, i }) => {
      checked += 1;
      const head = log.at(-1);
      const whole: AuditVerdict = {
        ok: true,
        length: log.length,
        head: head ? { index: head.index, hash: head.hash } : null,
      };
      expect(await verifyChain(pagesOf(log), keys, log.slice(0, i + 1))).toEqual(whole);
    }),
    { numRuns: 10 * scale },
  );
  expect(checked).toBe(10 * scale);
});

test("an empty chain is valid, unless a head was kept", async () => {
  expect(await verifyChain([], keys)).toEqual({ ok: true, length: 0, head: null });
  expect(await verifyChain([], keys, [{ index: 0, hash: "h" }])).toEqual({
    ok: false,
    at: 0,
    fault: "truncated",
  });
});

test("verification ignores the order of fields and detects another tenant", async () => {
  const [link] = keys.link(null, [{ at: 1, kind: "spend", data: { a: 1, b: { c: 2, d: 3 } }, source: "x" }]);
  if (!link) throw new Error("no link");
  const turned = { ...link, data: { b: { d: 3, c: 2 }, a: 1 } };
  expect(keys.faultOf(turned, null)).toBeNull();
  expect(keys.faultOf({ ...turned, data: { b: { d: 3, c: 2 }, a: 1, e: null } }, null)).toBe("changed");
  expect(new ChainKeys("other", ring).faultOf(link, null)).toBe("changed");
  expect(new ChainKeys("acme", [{ ...ring[0], id: "third" }]).faultOf(link, null)).toBe("unknown-key");
});
