import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { expect } from "vitest";
import { Fact, Labels, MemoryOwner, type Store, TenantId } from "#kernel";

const owner = MemoryOwner.user(null);

/** Facts of a few keys and moments, so that many of them meet, in any order: most of them are back-dated. */
const told = fc.array(
  fc.record({
    key: fc.constantFrom("a", "b"),
    validFrom: fc.integer({ min: 0, max: 12 }),
    lasts: fc.option(fc.integer({ min: 1, max: 8 })),
  }),
  { minLength: 1, maxLength: 14 },
);

/**
 * At any moment, the fact of a key that began last is valid, unless it has ended, in whatever order they were stored.
 */
export const factProperty = (open: () => Promise<Store>) =>
  fc.asyncProperty(told, async (facts) => {
    const { memory } = await open();
    const tenant = { tenantId: TenantId.of(`facts-${randomUUID()}`) };
    const written = facts.map(({ key, validFrom, lasts }, n): Fact => ({
      id: `f${n}`,
      key,
      value: n,
      validFrom,
      validTo: lasts === null ? null : validFrom + lasts,
      recordedAt: n,
      runId: null,
      labels: Labels.none,
    }));
    for (const fact of written) await memory.remember(tenant, owner, fact, { terms: ["word"] });
    const all = await memory.recall(tenant, owner, {});
    for (const { validFrom, validTo } of all) expect(validFrom).toBeLessThan(validTo ?? Infinity);
    for (let at = -1; at <= 22; at += 1) {
      const wanted = ["a", "b"].flatMap((key) => {
        const begun = written.filter((fact) => fact.key === key && fact.validFrom <= at);
        const last = begun.toSorted((a, b) => b.validFrom - a.validFrom || b.recordedAt - a.recordedAt)[0];
        return last && Fact.holds(last, at) ? [last.id] : [];
      });
      const holding = await memory.recall(tenant, owner, { at });
      expect(holding.map(({ id }) => id)).toEqual(wanted);
      const hits = await memory.search(tenant, owner, { terms: ["word"], limit: 99, at });
      const found = hits.map(({ item }) => (item.kind === "fact" ? item.id : ""));
      expect(found.toSorted()).toEqual(wanted.toSorted());
    }
  });
