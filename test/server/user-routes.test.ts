import { type Json, type JsonObject, Labels, MemoryOwner, Partition, toTerms, UserId } from "#kernel";
import { apiKeys, createApiKey } from "reeve/server";
import { call, scriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { routes } from "../../src/server/routes.ts";
import { ask, codeOf, type Reply } from "./ask.ts";
import { counter, TestServer, inAYear, approvalAgent } from "./test-server.ts";
import { openLive } from "./sse.ts";
import { keyRows, liveRows, stepRows, tenantRows } from "./tenant-rows.ts";

/** Ids of one user's objects. Each contains the user's name, so that a response shows whose data it holds. */
interface Owned {
  readonly user: string;
  readonly run: string;
  readonly approval: string;
  readonly session: string;
  readonly chat: string;
  readonly step: string;
  /** Both users give theirs the same id. */
  readonly schedule: string;
  /** The id of an open live stream. */
  readonly live: string;
  /** A webhook belongs to the tenant: both name the same. */
  readonly webhook: string;
}

interface Row {
  /**
   * The answer to a caller who names the other user's ids. `hidden`: 404, exactly as for ids that do not exist. `tenant`: 403,
   * it is for the whole tenant. `own`: an answer without anything of the other user.
   */
  readonly answer: "hidden" | "tenant" | "own";
  readonly body?: (named: Owned) => JsonObject;
  readonly query?: (named: Owned) => string;
  /** Default: any success. */
  readonly status?: number;
}

const operation = (): JsonObject => ({ id: crypto.randomUUID() });
const message = (): JsonObject => ({ ...operation(), text: "hello" });
const none = (): JsonObject => ({});
const act = (body: (named: Owned) => JsonObject): Row => ({ answer: "hidden", body });
const look: Row = { answer: "hidden" };

const chatBody = (chat: string, part: Json, role: string): JsonObject => ({
  id: chat,
  messages: [{ id: "m1", role, parts: [part] }],
});

/** Every route that there is: the first test fails for one that is missing here. */
const rows: Readonly<Record<string, readonly Row[]>> = {
  ...keyRows,
  "post /runs": [
    { answer: "own", body: () => ({ agent: "counter", input: "count" }) },
    {
      answer: "own",
      body: ({ session }) => ({ agent: "counter", input: "count", session, onBusy: "queue" }),
    },
  ],
  "get /runs": [
    { answer: "own" },
    { answer: "own", query: ({ session }) => `?session=${session}` },
    { answer: "own", query: () => "?agent=writer&roots=true&size=1" },
  ],
  "get /runs/:run": [look],
  "get /runs/:run/result": [look],
  "get /runs/:run/tree": [look],
  "get /runs/:run/view": [look],
  "get /runs/:run/blocker": [look],
  "get /runs/:run/ledger": [look],
  "get /runs/:run/doubts/:attempt": [look],
  "get /runs/:run/events": [look, { answer: "hidden", query: () => "?deltas=true" }],
  ...liveRows,
  "post /runs/:run/steer": [act(message)],
  "post /runs/:run/follow-up": [act(message)],
  "post /runs/:run/signal": [act(() => ({ ...operation(), name: "count" }))],
  "post /runs/:run/pause": [act(operation)],
  "post /runs/:run/resume": [act(operation)],
  "post /runs/:run/cancel": [act(none)],
  "post /runs/:run/reprioritize": [act(() => ({ ...operation(), priority: "high" }))],
  "post /runs/:run/top-up": [act(() => ({ ...operation(), maxTokens: 1 }))],
  ...stepRows,
  "post /runs/:run/keep": [act(none)],
  "post /runs/:run/reconcile": [act(() => ({ attempt: "a", usage: { input: 1, output: 1 } }))],
  "get /approvals": [{ answer: "own" }, { answer: "own", query: ({ run }) => `?tree=${run}` }],
  "post /approvals/:approval/approve": [act(none)],
  "post /approvals/:approval/deny": [act(none)],
  "post /approvals/:approval/edit": [act(() => ({ arguments: { to: "press" } }))],
  "get /sessions": [{ answer: "own" }],
  "post /sessions": [
    { answer: "own", body: () => ({ agent: "counter" }) },
    { answer: "own", body: () => ({ agent: "counter", id: "shared", title: "the same name" }) },
  ],
  "get /sessions/:session": [look],
  "patch /sessions/:session": [act(() => ({ title: "renamed" }))],
  "delete /sessions/:session": [look],
  "get /sessions/:session/messages": [look],
  "get /sessions/:session/export": [look],
  "get /sessions/:session/entries": [look],
  "post /sessions/:session/turns": [
    act(() => ({ input: "count" })),
    act(() => ({ input: "count", after: null })),
  ],
  "post /sessions/:session/compaction": [act(none)],
  "post /sessions/:session/fork": [act(none)],
  "post /sessions/:session/navigate": [act(() => ({ entry: null }))],
  "get /memory/facts": [{ answer: "own" }, { answer: "own", query: () => "?key=name&history=true" }],
  "get /memory/blocks": [{ answer: "own" }],
  "get /memory/export": [{ answer: "own" }],
  "post /memory/recall": [{ answer: "own", body: () => ({ text: "words of the user" }) }],
  "post /memory/forget": [
    { answer: "own", body: () => ({ key: "tea" }) },
    { answer: "own", body: ({ user }) => ({ fact: `${user}-fact` }) },
  ],
  "get /schedules": [{ answer: "own" }],
  "get /schedules/:schedule": [{ answer: "own" }],
  // Removed first, so that later requests find one.
  "delete /schedules/:schedule": [{ answer: "own" }],
  "put /schedules/:schedule": [
    { answer: "own", body: () => ({ agent: "counter", input: "count", cron: "0 0 1 1 *" }) },
  ],
  "post /schedules/:schedule/pause": [{ answer: "own", body: none }],
  "post /schedules/:schedule/resume": [{ answer: "own", body: none }],
  ...tenantRows,
  "get /budget": [{ answer: "own" }],
  "post /chat/:agent": [
    { answer: "own", body: ({ chat }) => chatBody(chat, { type: "text", text: "hello" }, "user") },
    {
      answer: "hidden",
      body: ({ chat, approval }) => {
        const state = "approval-responded";
        return chatBody(
          chat,
          { type: "tool-send_email", state, approval: { id: approval, approved: true } },
          "assistant",
        );
      },
    },
  ],
  "get /chat/:agent/:chat/messages": [{ answer: "own" }],
  "get /chat/:agent/:chat/stream": [{ answer: "own", status: 204 }],
};

test("the table of user routes has every route", () => {
  expect(Object.keys(rows).toSorted()).toEqual(
    routes.map(({ method, path }) => `${method} ${path}`).toSorted(),
  );
});

let site: TestServer;
const owned: Record<string, Owned> = {};

/** The ids of what does not exist. */
const missing: Owned = {
  user: "u-zoe",
  run: "u-zoe-tree",
  approval: "u-zoe-tree~0:tool:1",
  session: "u-zoe-talk",
  chat: "u-zoe-chat",
  step: "u-zoe-tree~0:model:1",
  schedule: "u-zoe-schedule",
  live: "00000000-0000-4000-8000-000000000000",
  webhook: "hook",
};

/** Facts and a block of a user, and a block of the tenant with a text that no user is given. */
async function rememberFor(user: string): Promise<void> {
  const { memory } = site.runtime.store;
  const [partition, owner] = [Partition.of("acme"), MemoryOwner.user(UserId.of(user))];
  const written = { runId: null, labels: Labels.none, limit: 100, version: 0, at: 0 };
  const told = { validFrom: 0, validTo: null, recordedAt: 0, runId: null, labels: Labels.none };
  for (const key of ["name", "tea"])
    await memory.remember(
      partition,
      owner,
      { id: key === "name" ? `${user}-fact` : `${user}-tea`, key, value: `the words of ${user}`, ...told },
      { terms: toTerms(`the words of ${user}`) },
    );
  await memory.editBlock(partition, owner, "human", { id: "e1", text: `is ${user}`, ...written });
  await memory.editBlock(partition, MemoryOwner.tenant, "pump", { id: "e2", text: "9000000", ...written });
}

const scopes = ["read", "run", "approve", "admin"] as const;
const keyOf = (user: string | null) => createApiKey({ tenant: "acme", user, scopes, expiresAt: inAYear });
const [ada, bob, backend] = [keyOf("u-ada"), keyOf("u-bob"), keyOf(null)];

/** The ways to ask for one user: a key of that user, and a trusted backend that names the user. */
const callers: Readonly<
  Record<string, { readonly user: string; readonly key: string; readonly header?: string }>
> = {
  "ada's key": { user: "u-ada", key: ada.key },
  "bob's key": { user: "u-bob", key: bob.key },
  "a backend for ada": { user: "u-ada", key: backend.key, header: "u-ada" },
  "a backend for bob": { user: "u-bob", key: backend.key, header: "u-bob" },
};

beforeAll(async () => {
  const auth = apiKeys([ada, bob, backend].map(({ record }) => record));
  // Every turn of every run asks for approval.
  const sendEmail = call("send_email", { to: "team" });
  const model = scriptedModel([sendEmail, ...Array.from({ length: 99 }, () => sendEmail)]);
  const dev = { example: null, failure: () => null, cause: () => undefined };
  site = await TestServer.open({ auth, agents: [approvalAgent(model), counter], dev });
  for (const [user, { key: bearer }] of Object.entries({ "u-ada": ada, "u-bob": bob })) {
    const [run, session] = [`${user}-tree`, `${user}-talk`];
    const talk = { agent: "writer", id: session };
    expect((await site.post("/sessions", talk, { key: bearer })).status).toBe(200);
    const begun = { agent: "writer", input: `the words of ${user}`, id: run, session };
    expect((await site.post("/runs", begun, { key: bearer })).status).toBe(202);
    const handle = site.runtime.run(run, { tenant: "acme" });
    for await (const event of handle.events()) if (event.type === "approval.requested") break;
    const [asked] = await handle.approvals();
    const hello = chatBody(`${user}-chat`, { type: "text", text: "hello" }, "user");
    expect((await site.post("/chat/writer", hello, { key: bearer })).status).toBe(200);
    await site.runtime.tenants.setBudget({ tenant: "acme", user }, { maxTokens: 7_000_000, per: "ever" });
    await rememberFor(user);
    const yearly = { id: "yearly", cron: "0 0 1 1 *", agent: counter, input: `the words of ${user}` };
    await site.runtime.schedules.set({ ...yearly, tenant: "acme", user });
    // No such event happens, so nothing is sent.
    const hook = { id: "hook", url: "https://receiver.example/", events: ["budget.warning"] as const };
    await site.runtime.webhooks.set({ ...hook, tenant: "acme" });
    owned[user] = {
      user,
      run,
      approval: asked?.id ?? "",
      session,
      chat: `${user}-chat`,
      step: `${run}~0:model:1`,
      schedule: "yearly",
      live: await openLive(site.url, bearer),
      webhook: "hook",
    };
  }
  await site.runtime.tenants.setBudget({ tenant: "acme" }, { maxTokens: 9_000_000, per: "ever" });
});

afterAll(() => site[Symbol.asyncDispose]());

type Caller = (typeof callers)[string];

function askRow(
  name: string,
  row: Row,
  { key, header }: Pick<Caller, "key" | "header">,
  named: Owned,
): Promise<Reply> {
  const [method = "", path = ""] = name.split(" ");
  const ids: Readonly<Record<string, string>> = { ...named, agent: "writer", attempt: "a1" };
  const filled = path.replaceAll(/:(\w+)/g, (_, id: string) => encodeURIComponent(ids[id] ?? ""));
  const headers = header === undefined ? {} : { "x-reeve-user": header };
  const url = `${site.url}${filled}${row.query?.(named) ?? ""}`;
  return ask(url, method.toUpperCase(), { key, headers, body: row.body?.(named) });
}

const ownedBy = (user: string): Owned => owned[user] ?? missing;
const ownedByOther = (user: string): Owned => ownedBy(user === "u-ada" ? "u-bob" : "u-ada");

const statuses = (): Promise<readonly string[]> =>
  Promise.all(
    ["u-ada", "u-bob"].map((user) => site.runtime.run(ownedBy(user).run, { tenant: "acme" }).status()),
  );

const plain = ({ text }: Reply, named: Owned): string =>
  Object.values(named).reduce<string>((told, id) => told.replaceAll(id, "?"), text);

const each = Object.entries(rows).flatMap(([name, all]) => all.map((row, n) => [name, n, row] as const));
// Writes start trees, which lists would show, so they come last.
const isWrite = (name: string): number => Number(!name.startsWith("get"));
const readsFirst = each.toSorted(([a], [b]) => isWrite(a) - isWrite(b));
const cases = Object.entries(callers)
  .flatMap(([who, caller]) => each.map(([name, n, row]) => [who, name, n, row, caller] as const))
  .toSorted(([, a], [, b]) => isWrite(a) - isWrite(b));

interface Asked {
  readonly name: string;
  readonly row: Row;
  readonly caller: Caller;
  readonly theirs: Owned;
  readonly reply: Reply;
}

const checks: Readonly<Record<Row["answer"], (asked: Asked) => Promise<void>>> = {
  tenant: async ({ reply }) => expect([reply.status, codeOf(reply)]).toEqual([403, "forbidden"]),
  hidden: async ({ name, row, caller, theirs, reply }) => {
    expect([reply.status, codeOf(reply)]).toEqual([404, "not-found"]);
    const absent = await askRow(name, row, caller, missing);
    expect([absent.status, plain(absent, missing)]).toEqual([reply.status, plain(reply, theirs)]);
  },
  own: async ({ row, theirs, reply }) => {
    expect(row.status === undefined ? [200, 202] : [row.status]).toContain(reply.status);
    expect(reply.text).not.toContain(theirs.user);
    expect(reply.text).not.toContain("9000000");
  },
};

test.each(cases)("%s reaches nothing of the other user: %s (%i)", async (_, name, __, row, caller) => {
  const theirs = ownedByOther(caller.user);
  const before = await statuses();
  const reply = await askRow(name, row, caller, theirs);
  await checks[row.answer]({ name, row, caller, theirs, reply });
  expect(await statuses()).toEqual(before);
});

const ends = ["post /runs/:run/cancel", "delete /sessions/:session"];

// The positive control: without it, a server that hides everything would pass. These come last: nothing can be done
// after them.
const control = readsFirst.toSorted(([a], [b]) => ends.indexOf(a) - ends.indexOf(b));

test.each(control)("a user reaches their own data: %s (%i)", async (name, _, row) => {
  const isTenants = row.answer === "tenant";
  const reply = await askRow(name, row, { key: isTenants ? backend.key : ada.key }, ownedBy("u-ada"));
  expect([200, 202, 409]).toContain(reply.status);
});

test.each(each.filter(([name]) => name !== "get /openapi.json"))(
  "a caller cannot name another user than its own, in a header or a query: %s (%i)",
  async (name, _, row) => {
    const forged = await askRow(name, row, { key: ada.key, header: "u-bob" }, ownedBy("u-ada"));
    expect([forged.status, codeOf(forged)]).toEqual([403, "forbidden"]);
    expect(forged.text).toContain("use a key of that user");
  },
);

test("a request for another user's lists and budgets is refused, not answered with empty lists", async () => {
  for (const path of [
    "/runs?user=u-bob",
    "/sessions?user=u-bob",
    "/budget?user=u-bob",
    "/memory/facts?user=u-bob",
    "/memory/blocks?user=u-bob",
    "/memory/export?user=u-bob",
    "/schedules?user=u-bob",
    "/schedules/yearly?user=u-bob",
    "/sessions/u-bob-chat?user=u-bob",
    "/sessions/u-bob-chat/messages?user=u-bob",
    "/sessions/u-bob-chat/export?user=u-bob",
    "/sessions/u-bob-chat/entries?user=u-bob",
  ]) {
    const reply = await site.get(path, { key: ada.key });
    expect([path, reply.status, codeOf(reply)]).toEqual([path, 403, "forbidden"]);
    expect((await site.get(path.replaceAll("u-bob", "u-ada"), { key: ada.key })).status).toBe(200);
    expect((await site.get(path, { key: backend.key })).status).toBe(200);
  }
});
