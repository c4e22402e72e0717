import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AesSeal, defaultKeys, environmentKeys, keyFile } from "#sealing";

const fresh = (): string => randomBytes(32).toString("base64");
const value = Buffer.from("a secret");
const sealOf = async (environment: Record<string, string>): Promise<AesSeal> =>
  AesSeal.of("a/books", await environmentKeys(environment).getRing("a/books"));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-keys-"));
});

afterAll(() => rm(folder, { recursive: true }));

test("each partition has its own key, which never changes", async () => {
  const keys = environmentKeys({ REEVE_KEY: fresh() });
  const [books] = await keys.getRing("a/books");
  const [again] = await keys.getRing("a/books");
  const [cars] = await keys.getRing("a/cars");
  expect(again).toEqual(books);
  expect(cars.secret).not.toEqual(books.secret);
  expect(books.secret).toHaveLength(32);
});

test("a key of the environment is replaced without losing values sealed by the old one", async () => {
  const [first, second, third] = [fresh(), fresh(), fresh()];
  const sealed = (await sealOf({ REEVE_KEY: first })).seal(value);
  const after = await sealOf({ REEVE_KEY: third, REEVE_KEY_PREVIOUS: `${second}, ${first}` });
  expect(Buffer.from(after.open(sealed))).toEqual(value);
  expect(Buffer.from((await sealOf({ REEVE_KEY: third })).open(after.seal(value)))).toEqual(value);
  const without = await sealOf({ REEVE_KEY: third });
  expect(() => without.open(sealed)).toThrow("unknown-key");
});

test("an invalid key is refused, and the error does not contain it", () => {
  expect(() => environmentKeys({})).toThrow("REEVE_KEY must be a key of 32 bytes in base64");
  expect(() => environmentKeys({ REEVE_KEY: "hunter2" })).toThrow(
    /^(?!.*hunter2).*REEVE_KEY must be a key of 32 bytes in base64/,
  );
  expect(() => environmentKeys({ REEVE_KEY: fresh(), REEVE_KEY_PREVIOUS: "x" })).toThrow(
    "REEVE_KEY_PREVIOUS",
  );
});

test("a key file is made once, for its owner only, and kept out of git", async () => {
  const path = join(folder, "fresh", "key");
  const rings = await Promise.all(Array.from({ length: 8 }, () => keyFile({ path }).getRing("a/books")));
  expect(new Set(rings.map(([{ id }]) => id)).size).toBe(1);
  const { mode } = await stat(path);
  expect(mode & 0o777).toBe(0o600);
  expect(await readFile(join(folder, "fresh", ".gitignore"), "utf8")).toBe("*\n");
});

test("a key file leaves the folder of others alone", async () => {
  await keyFile({ path: join(folder, "key") }).getRing("a/books");
  await expect(stat(join(folder, ".gitignore"))).rejects.toThrow("ENOENT");
});

test("a new key at the top of the file seals, and the keys below still open", async () => {
  const path = join(folder, "rotated");
  const before = AesSeal.of("a/books", await keyFile({ path }).getRing("a/books"));
  const sealed = before.seal(value);
  await writeFile(path, `${fresh()}\n${await readFile(path, "utf8")}`);
  const after = AesSeal.of("a/books", await keyFile({ path }).getRing("a/books"));
  expect(Buffer.from(after.open(sealed))).toEqual(value);
  expect(() => before.open(after.seal(value))).toThrow("unknown-key");
});

test("a file without a key is refused, and read again once it has one", async () => {
  const path = join(folder, "broken");
  await writeFile(path, "nothing\n");
  const keys = keyFile({ path });
  await expect(keys.getRing("a/books")).rejects.toThrow(`${path} must be a key of 32 bytes in base64`);
  await writeFile(path, fresh());
  await expect(keys.getRing("a/books")).resolves.toHaveLength(1);
});

test("production without a key is refused with the remedy", () => {
  expect(() => defaultKeys({ NODE_ENV: "production" })).toThrow("openssl rand -base64 32");
  expect(() => defaultKeys({ NODE_ENV: "production", REEVE_KEY: fresh() })).not.toThrow();
});
