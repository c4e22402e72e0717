import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiKeys } from "reeve/server";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../../src/cli/program.ts";
import { FakeTerminal } from "./fake-terminal.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-keys-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function reeve(...words: readonly string[]): Promise<readonly [number, string]> {
  const terminal = new FakeTerminal({ folder, environment: { DATABASE_URL: "keys.db" } });
  const code = await main(["keys", ...words], terminal);
  return [code, terminal.said];
}

test("a key of a user is made, shown once, listed with its user, and revoked", async () => {
  const [made, key] = await reeve("create", "--tenant", "acme", "--user", "ada", "--scopes", "read,run");
  expect([made, key]).toEqual([0, expect.stringMatching(/^reeve_[0-9a-f]{18}_[\w-]{43}\n$/)]);
  await reeve("create", "--tenant", "acme", "--scopes", "run,act-for-users", "--days", "1");
  const principal = async (): Promise<unknown> => {
    await using store = await sqliteStore({ path: join(folder, "keys.db") });
    return await apiKeys(store.apiKeys).authenticate(key.trim());
  };
  expect(await principal()).toMatchObject({ tenant: "acme", user: "ada", scopes: ["read", "run"] });
  const [, list] = await reeve("list", "--tenant", "acme");
  const id = key.split("_")[1] ?? "";
  expect(list).toMatch(new RegExp(`${id} +ada +read,run`));
  expect(list).toContain("run,act-for-users");
  expect(list).not.toContain(key.trim().slice(-43));
  expect(await reeve("list")).toEqual([0, "no keys\n"]);
  expect((await reeve("revoke", id))[0]).toBe(4);
  expect(await reeve("revoke", id, "--tenant", "acme")).toEqual([0, `${id} revoked\n`]);
  expect(await principal()).toBeNull();
  const [, json] = await reeve("list", "--tenant", "acme", "--json");
  expect(JSON.parse(json)).toMatchObject({ user: null, scopes: ["run", "act-for-users"] });
  expect(json).not.toContain("hash");
});

test.each([
  ["a scope that there is not", ["--scopes", "read,root"]],
  ["a user that is not an id", ["--scopes", "read", "--user", "a b"]],
  ["a user and the right to act for others", ["--scopes", "act-for-users", "--user", "ada"]],
  ["no scopes", []],
])("a key with %s is refused", async (_, words) => {
  expect((await reeve("create", ...words))[0]).toBe(2);
});

test("without a store the command prints where to set it", async () => {
  const terminal = new FakeTerminal({ folder });
  expect(await main(["keys", "list"], terminal)).toBe(2);
  expect(terminal.complained).toContain("--store or DATABASE_URL");
});
