import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  EntryId,
  type Json,
  MemoryBlock,
  MemoryHit,
  MemoryItem,
  MemoryOwner,
  SessionId,
  toTerms,
  UserId,
  weighTerms,
} from "#kernel";

const id = fc.stringMatching(/^[\x21-\x7e]{1,40}$/);
const user = fc.option(id.map(UserId.of));
const owner = fc.oneof(
  fc.constant(MemoryOwner.tenant),
  user.map(MemoryOwner.user),
  fc.record({ id: id.map(SessionId.of), userId: user }).map(MemoryOwner.session),
);
const item = fc.oneof(
  id.map(MemoryItem.fact),
  id.map(MemoryItem.block),
  fc.tuple(id, id).map(([session, entry]) => MemoryItem.episode(SessionId.of(session), EntryId.of(entry))),
);

const key = (of: MemoryOwner, about: MemoryItem): string =>
  `${MemoryOwner.key(of)}\n${MemoryItem.key(about)}`;

const hit = (score: number, at: number, name = "f"): MemoryHit => ({
  owner: MemoryOwner.tenant,
  item: MemoryItem.fact(name),
  score,
  at,
});

test("names of owners and items are unique and can be parsed", () => {
  fc.assert(
    fc.property(owner, owner, item, item, (one, other, first, second) => {
      expect(MemoryOwner.parse(MemoryOwner.key(one))).toEqual(one);
      expect(MemoryItem.parse(MemoryItem.key(first))).toEqual(first);
      const isSame = JSON.stringify([one, first]) === JSON.stringify([other, second]);
      expect(key(one, first) === key(other, second)).toBe(isSame);
    }),
  );
  const wrong = ["", "t x", "x ann", "s ann", "s ann a b", "fact", "episode a", "block a b"];
  for (const name of wrong) {
    expect(() => MemoryOwner.parse(name)).toThrow(TypeError);
    expect(() => MemoryItem.parse(name)).toThrow(TypeError);
  }
});

test("terms are folded, letters and digits only, each once", () => {
  expect(toTerms("The CAFÉ, the cafe\u0301 – №5 ﬁrst_time!")).toEqual([
    "the",
    "café",
    "no5",
    "first",
    "time",
  ]);
  expect(toTerms("हिन्दी में")).toEqual(["हिन्दी", "में"]);
  expect(toTerms("東京都に 行")).toEqual(["東京", "京都", "都に", "行"]);
  expect(toTerms("… !? 😀")).toEqual([]);
});

test("terms are at most 256 of 64 characters, and folding them again changes nothing", () => {
  const many = Array.from({ length: 300 }, (_, n) => `w${n}`).join(" ");
  expect(toTerms(many)).toHaveLength(256);
  expect(toTerms("x".repeat(1_000))).toEqual(["x".repeat(64)]);
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("Straße", "İstanbul", "ΣΑΣ", "ｱｲ", "Ⅷ", "a\u0301"), { maxLength: 5 }),
      (words) => {
        const terms = toTerms(words.join(" "));
        expect(toTerms(terms.join(" "))).toEqual(terms);
      },
    ),
  );
});

test("a rarer term weighs more, and a very common one has no weight beside it", () => {
  const weights = weighTerms(
    new Map([
      ["rare", 1],
      ["usual", 100],
      ["common", 1_001],
      ["absent", 0],
    ]),
  );
  expect([...weights.keys()]).toEqual(["rare", "usual"]);
  expect(weights.get("rare")).toBeGreaterThan(weights.get("usual") ?? 0);
  expect([...weighTerms(new Map([["common", 1_001]])).keys()]).toEqual(["common"]);
});

test("hits of several owners are one list: by score, then newest first", () => {
  const best = MemoryHit.best([hit(1, 9), hit(2, 1, "b"), hit(2, 1, "a"), hit(2, 5)], 3);
  expect(best).toEqual([hit(2, 5), hit(2, 1, "a"), hit(2, 1, "b")]);
});

test.each<Json>([[], ["ann", 3], ["ann", "bob", "eve"], "ann", null, { ann: true }])(
  "authors that cannot be read count as several, so a block gains no trust: %j",
  (stored) => {
    expect(new Set(MemoryBlock.decodeAuthors(stored).authors).size).toBe(2);
  },
);

test.each([["ann"], ["ann", "bob"]])("stored authors are read as they were written", (...authors) => {
  expect(MemoryBlock.decodeAuthors(authors)).toEqual({ authors });
  expect(MemoryBlock.decodeAuthors(undefined)).toEqual({});
});
