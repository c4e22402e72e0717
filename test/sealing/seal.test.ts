import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { KeyDestroyedError, type KeyRing, type Keys, SealBrokenError } from "#kernel";
import { AesSeal, Seals } from "#sealing";

const key = (id: string): KeyRing[number] => ({ id, secret: randomBytes(32) });
const old = key("old");
const young = key("young");
const text = (seal: AesSeal, sealed: Uint8Array): string => Buffer.from(seal.open(sealed)).toString();
const nonceOf = (sealed: Uint8Array): string => Buffer.from(sealed.subarray(5, 17)).toString("hex");
const bytes = (value: string): Buffer => Buffer.from(value);

test("a sealed value opens, is not readable and never looks the same twice", () => {
  const seal = AesSeal.of("acme/books", [old]);
  const sealed = seal.seal(bytes("a secret"));
  expect(text(seal, sealed)).toBe("a secret");
  expect(Buffer.from(sealed).includes("secret")).toBe(false);
  expect(seal.seal(bytes("a secret"))).not.toEqual(sealed);
  expect(text(seal, seal.seal(bytes("")))).toBe("");
});

test("a value of one partition is refused in another, also under the same key", () => {
  const sealed = AesSeal.of("acme/books", [old]).seal(bytes("a secret"));
  const opening = (): unknown => AesSeal.of("acme/cars", [old]).open(sealed);
  expect(opening).toThrow(new SealBrokenError({ partition: "acme/cars", reason: "not-authentic" }));
});

test("a value bound to one name opens under no other name, also with the lasting key", () => {
  const lasting = { ...key("lasting"), lasting: true };
  const seal = AesSeal.of("acme/books", [old, lasting]).repeatable("invocation", bytes(""));
  const [tree, slots] = [
    seal.boundTo("state/tree/acme/books/tree"),
    seal.boundTo("state/tree/acme/books/slots"),
  ];
  for (const [one, other] of [
    [tree, slots],
    [tree.lasting, slots],
    [tree, seal],
    [seal, tree],
  ] as const) {
    const sealed = one.seal(bytes("a secret"));
    expect(text(one, sealed)).toBe("a secret");
    expect(() => other.open(sealed)).toThrow(SealBrokenError);
  }
  // The same nonce under two names would give the authentication key away.
  expect(nonceOf(tree.seal(bytes("a secret")))).not.toBe(nonceOf(slots.seal(bytes("a secret"))));
});

test("each changed bit is detected", () => {
  const seal = AesSeal.of("acme/books", [old]);
  const sealed = seal.seal(bytes("a secret"));
  for (const index of sealed.keys()) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => seal.open(changed)).toThrow(SealBrokenError);
  }
  for (const length of sealed.keys())
    expect(() => seal.open(sealed.subarray(0, length))).toThrow(SealBrokenError);
});

test("a value sealed with another key is refused with that reason and its partition", () => {
  const sealed = AesSeal.of("acme/books", [old]).seal(bytes("a secret"));
  const other = AesSeal.of("acme/books", [young]);
  expect(() => other.open(sealed)).toThrow("cannot decrypt data of acme/books: unknown-key");
  const sameName = AesSeal.of("acme/books", [key("old")]);
  expect(() => sameName.open(sealed)).toThrow("cannot decrypt data of acme/books: not-authentic");
  expect(() => other.open(bytes('{"plain":true}'))).toThrow("not-sealed");
  // A value of a release that did not bind values to their place.
  expect(() => other.boundTo("state/a").open(other.seal(bytes("x")))).toThrow("older-format");
});

test("the newest key seals and every key opens", () => {
  const before = AesSeal.of("acme/books", [old]);
  const after = AesSeal.of("acme/books", [young, old]);
  expect(text(after, before.seal(bytes("before")))).toBe("before");
  const sealed = after.seal(bytes("after"));
  expect(() => before.open(sealed)).toThrow("unknown-key");
  expect(text(AesSeal.of("acme/books", [young]), sealed)).toBe("after");
});

test("a repeatable seal gives the same bytes for the same position, even after a new key", () => {
  const begun = AesSeal.of("acme/books", [old]).seal(bytes("begun"));
  const first = AesSeal.of("acme/books", [old]).repeatable("here", begun);
  const replayed = AesSeal.of("acme/books", [young, old]).repeatable("here", begun);
  const sealed = first.seal(bytes("a secret"));
  expect(replayed.seal(bytes("a secret"))).toEqual(sealed);
  expect(text(replayed, sealed)).toBe("a secret");
});

test("a repeatable seal gives other bytes for another position, and never reuses a nonce", () => {
  const seal = AesSeal.of("acme/books", [old]);
  const begun = seal.seal(bytes("begun"));
  const here = seal.repeatable("here", begun);
  const nonces = [
    here.seal(bytes("one")),
    here.seal(bytes("two")),
    seal.repeatable("there", begun).seal(bytes("one")),
    AesSeal.of("acme/books", [young]).repeatable("here", begun).seal(bytes("one")),
  ].map(nonceOf);
  expect(new Set(nonces).size).toBe(nonces.length);
});

test("keys are requested once, a bounded number is cached, and a destroyed key is not used from the cache", async () => {
  const asked: string[] = [];
  const destroyed = new Set<string>();
  const keys: Keys = {
    getRing: async (partition) => {
      asked.push(partition);
      if (destroyed.has(partition)) throw new KeyDestroyedError({ partition });
      return [old];
    },
  };
  const seals = new Seals(keys, { maxKept: 2 });
  const sealed = (await seals.getSeal("a")).seal(bytes("a secret"));
  expect(text(await seals.getSeal("a"), sealed)).toBe("a secret");
  await seals.getSeal("b");
  await seals.getSeal("a");
  await seals.getSeal("c");
  expect(asked).toEqual(["a", "b", "c"]);
  await seals.getSeal("a");
  await seals.getSeal("b");
  expect(asked).toEqual(["a", "b", "c", "b"]);
  destroyed.add("b");
  await expect(new Seals(keys, { keyCacheMs: 0 }).getSeal("b")).rejects.toThrow(KeyDestroyedError);
  destroyed.clear();
  expect(text(await new Seals(keys).getSeal("a"), sealed)).toBe("a secret");
});

test("a key that could not be loaded is requested again", async () => {
  let isDown = true;
  const keys: Keys = { getRing: async () => (isDown ? Promise.reject(new Error("no network")) : [old]) };
  const seals = new Seals(keys);
  await expect(seals.getSeal("a")).rejects.toThrow("no network");
  isDown = false;
  await expect(seals.getSeal("a")).resolves.toBeInstanceOf(AesSeal);
});
