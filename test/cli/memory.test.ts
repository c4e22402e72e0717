import { agent, memory } from "reeve";
import { createClient } from "reeve/client";
import { apiKeys, createApiKey } from "reeve/server";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { CliServer } from "./cli-server.ts";

const newNotes = () =>
  agent({
    name: "notes",
    model: scriptedModel([
      call("remember", { key: "city", value: "Ada lives in Lisbon." }),
      call("edit_block", { block: "human", old_text: "", new_text: "Drinks tea." }),
      call("edit_shared_block", { block: "pump", old_text: "", new_text: "The pump is old." }),
      say("I know."),
    ]),
    extensions: [
      memory({
        blocks: { human: { limit: 100 }, pump: { limit: 100, shared: "tenant" } },
        facts: true,
        episodes: { recall: 5 },
      }),
    ],
  });

const keyOf = (user: string | null) => {
  const scopes = ["read", "run", ...(user === null ? ["content" as const] : [])] as const;
  return createApiKey({ tenant: null, user, scopes, expiresAt: Date.now() + 1_000_000 });
};

/** A server in which an agent has remembered something of Ada. */
async function open(options: Parameters<typeof CliServer.open>[0] = {}): Promise<CliServer> {
  const server = await CliServer.open({ ...options, agents: [newNotes()] });
  const talk = await server.runtime.sessions.create(server.agent("notes"), { id: "talk", user: "ada" });
  expect((await talk.invoke("I live in Lisbon and drink tea")).status).toBe("completed");
  return server;
}

test("memory of a user is listed, searched and erased", async () => {
  await using server = await open();
  expect((await server.reeve("memory", "facts")).said).toBe("no facts\n");
  const facts = await server.reeve("memory", "facts", "--user", "ada");
  expect(facts.said).toMatch(/^key +since +until +value\ncity .* Ada lives in Lisbon\.\n$/);
  expect((await server.reeve("memory", "blocks", "--user", "ada")).said).toBe(
    "human (11 of 100 characters)\n  Drinks tea.\n\npump (shared by all users, 16 of 100 characters)\n  The pump is old.\n",
  );
  const found = await server.reeve("memory", "recall", "lisbon", "tea", "--user", "ada");
  expect(found.said).toContain("Ada lives in Lisbon.");
  expect(found.said).toMatch(/message +talk .*I live in Lisbon/);
  const exported = (await server.reeve("memory", "export", "--user", "ada")).said.trim().split("\n");
  expect(exported.map((line) => JSON.parse(line).kind)).toEqual(["fact", "block"]);
  expect((await server.reeve("memory", "forget", "city", "--user", "ada")).said).toBe(
    "1 fact erased\nstill said in the conversation talk: delete it if it must go\n",
  );
  expect((await server.reeve("memory", "facts", "--user", "ada", "--json")).said).toBe("");
});

test("a key of a user reaches the memory of that user, and no shared block", async () => {
  const [ada, bob, reader] = [keyOf("ada"), keyOf("bob"), keyOf(null)];
  await using server = await open({ auth: apiKeys([ada, bob, reader].map(({ record }) => record)) });
  const clientOf = ({ key }: { readonly key: string }) => createClient({ url: server.url, key }).memory;
  expect((await clientOf(ada).blocks()).map(({ name }) => name)).toEqual(["human"]);
  expect((await clientOf(reader).blocks({ user: "ada" })).map(({ name }) => name)).toEqual(["human", "pump"]);
  expect((await clientOf(ada).facts({ key: "city" })).map(({ value }) => value)).toEqual([
    "Ada lives in Lisbon.",
  ]);
  expect(await clientOf(bob).facts()).toEqual([]);
  expect(await clientOf(bob).recall("lisbon")).toEqual([]);
  await expect(clientOf(bob).facts({ user: "ada" })).rejects.toMatchObject({ code: "forbidden" });
  await expect(clientOf(bob).forget({ key: "city" }, { user: "ada" })).rejects.toMatchObject({
    code: "forbidden",
  });
  expect(await clientOf(bob).forget({ key: "city" })).toEqual({ forgotten: 0, conversations: [] });
  expect(await clientOf(ada).forget({ key: "city" })).toEqual({ forgotten: 1, conversations: ["talk"] });
  expect(await clientOf(ada).facts({ history: true })).toEqual([]);
});
