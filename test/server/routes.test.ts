import { isJsonObject, type JsonObject } from "#kernel";
import { type Json } from "reeve";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Scope } from "reeve/server";
import { routes } from "../../src/server/routes.ts";
import type { Route } from "../../src/server/route.ts";
import { ask, codeOf, type Reply } from "./ask.ts";
import { counter, TestServer } from "./test-server.ts";

const scopes: readonly Scope[] = ["read", "run", "approve", "admin"];

let site: TestServer;
/** The objects of acme: a tree that waits for approval, in a session. */
let ids: Readonly<Record<string, string>>;

/** Ids that do not exist. */
const strangers: Readonly<Record<string, string>> = {
  run: "missing",
  approval: "missing~0:tool:1",
  step: "missing~0:model:1",
  session: "missing",
  chat: "missing",
  schedule: "missing",
  webhook: "missing",
};

beforeAll(async () => {
  site = await TestServer.open();
  expect((await site.post("/sessions", { agent: "writer", id: "talk" })).status).toBe(200);
  const begun = { agent: "writer", input: "send", id: "estate", session: "talk" };
  expect((await site.post("/runs", begun)).status).toBe(202);
  const run = site.runtime.run("estate", { tenant: "acme" });
  for await (const event of run.events()) if (event.type === "approval.requested") break;
  const [asked] = await run.approvals();
  ids = {
    run: "estate",
    approval: asked?.id ?? "",
    session: "talk",
    chat: "talk",
    step: "estate~0:model:1",
    schedule: "yearly",
    webhook: "outbound",
  };
  const yearly = { id: "yearly", cron: "0 0 1 1 *", agent: counter, input: "estate" };
  await site.runtime.schedules.set({ ...yearly, tenant: "acme" });
  await site.runtime.webhooks.set({ id: "outbound", url: "https://estate.example/", tenant: "acme" });
});

afterAll(() => site[Symbol.asyncDispose]());

const pathOf = ({ path }: Route, named: Readonly<Record<string, string>>): string =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(named[name] ?? "writer"));

/** Returns a valid body, generated from the route's own schema, so that every new route is tested. */
function sample(schema: JsonObject): Json {
  const { type, enum: words, required = [], properties = {} } = schema;
  if (Array.isArray(words)) return words[0];
  if (type === "array") return [{ id: "m1", role: "user", parts: [{ type: "text", text: "hello" }] }];
  if (type === "integer" || type === "number") return 0;
  if (type === "boolean") return true;
  if (type !== "object" || !Array.isArray(required) || !isJsonObject(properties)) return "writer";
  const propertyOf = (name: string): JsonObject => (isJsonObject(properties[name]) ? properties[name] : {});
  return Object.fromEntries(required.map((name: string) => [name, sample(propertyOf(name))]));
}

/** Fields one of which is required. */
const needed: Readonly<Record<string, JsonObject>> = {
  "/budget": { maxTokens: 5 },
  "/memory/forget": { key: "city" },
  "/switches/disable": { name: "no_such_tool" },
  "/switches/enable": { name: "another_tool" },
  "/schedules/:schedule": { cron: "0 0 1 1 *" },
  "/webhooks/:webhook": { url: "https://receiver.example/", secret: `whsec_${"AAAA".repeat(8)}` },
};

const bodyOf = ({ path, body }: Route): JsonObject | undefined => {
  const made = body ? sample(body.schema) : undefined;
  return isJsonObject(made) ? { ...made, ...needed[path] } : undefined;
};

/** Asks a route something that fits. */
function askRoute(
  route: Route,
  given: {
    readonly key?: string;
    readonly named?: Readonly<Record<string, string>>;
    readonly query?: string;
    readonly body?: JsonObject;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<Reply> {
  const { key, named = ids, query = "", body, headers = {} } = given;
  const said = route.body || body ? { ...bodyOf(route), ...body } : undefined;
  const url = `${site.url}${pathOf(route, named)}${query}`;
  return ask(url, route.method.toUpperCase(), { key, headers, body: said });
}

const each = routes.map((route) => [`${route.method} ${route.path}`, route] as const);

test.each(each)("%s: a request without a key, or with an unknown one, is refused", async (_, route) => {
  const known = site.keys.acme.admin;
  const wrong = [
    undefined,
    "x",
    known.slice(0, -1),
    `${known.slice(0, -1)}${known.endsWith("A") ? "E" : "A"}`,
  ];
  for (const key of wrong) {
    const reply = await askRoute(route, key === undefined ? {} : { key });
    expect([reply.status, codeOf(reply)]).toEqual([401, "unauthorized"]);
  }
});

const scoped = each.filter(([, { scope }]) => scope !== null);

test.each(scoped)("%s: a key without its scope is refused", async (_, route) => {
  for (const scope of scopes.filter((other) => other !== route.scope && other !== "admin")) {
    const reply = await askRoute(route, { key: site.keys.acme[scope] });
    expect([reply.status, codeOf(reply)]).toEqual([403, "forbidden"]);
  }
});

test.each(each)(
  "%s: a request that names a tenant in a header, a query or a body is refused",
  async (_, route) => {
    for (const key of [site.keys.acme.admin, site.keys.rival.admin]) {
      const named = "tenant-not-allowed";
      const header = await askRoute(route, { key, headers: { "x-reeve-tenant": "acme" } });
      expect([header.status, codeOf(header)]).toEqual([400, named]);
      const query = await askRoute(route, { key, query: "?tenant=acme" });
      expect([query.status, codeOf(query)]).toEqual([400, named]);
      for (const body of [{ tenant: "acme" }, { tenantId: "acme" }]) {
        const forged = await askRoute(route, { key, body });
        expect([forged.status, codeOf(forged)]).toEqual([400, route.body ? named : "invalid-request"]);
      }
    }
  },
);

/** Without the ids that were asked for, without new ones, and without the time of the request. */
const plain = ({ text }: Reply, named: Readonly<Record<string, string>>): string =>
  [...Object.values(named), /[0-9a-f-]{36}/g, /"setAt":\d+/g].reduce<string>(
    (said, id) => said.replaceAll(id, "?"),
    text,
  );

// Writes start trees of this tenant, which lists would show, so they come last.
const readsFirst = each.toSorted(([, a], [, b]) => Number(a.method !== "get") - Number(b.method !== "get"));

test.each(readsFirst)(
  "%s: another tenant's objects look like objects that do not exist",
  async (_, route) => {
    const key = site.keys.rival.admin;
    const run = site.runtime.run("estate", { tenant: "acme" });
    const before = await run.status();
    const theirs = await askRoute(route, { key });
    const missing = await askRoute(route, { key, named: strangers });
    expect(theirs.status).toBe(missing.status);
    expect([200, 202, 204, 404]).toContain(theirs.status);
    expect(plain(theirs, ids)).toBe(plain(missing, strangers));
    expect(theirs.status === 404 ? "" : theirs.text).not.toContain("estate");
    expect(await run.status()).toBe(before);
  },
);

test.each(each)("%s: an unknown field or parameter is refused", async (_, route) => {
  const key = site.keys.acme.admin;
  const query = await askRoute(route, { key, query: "?token=secret-words" });
  expect([query.status, codeOf(query)]).toEqual([400, "invalid-request"]);
  expect(query.text).not.toContain("secret-words");
  const body = await askRoute(route, { key, body: { surprise: 1 } });
  expect([body.status, codeOf(body)]).toEqual([400, "invalid-request"]);
});

test("the API document describes every route and no other", async () => {
  const { json } = await site.get("/openapi.json");
  const paths = isJsonObject(json) && isJsonObject(json["paths"]) ? json["paths"] : {};
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(isJsonObject(operations) ? operations : {}).map((method) => `${method} ${path}`),
  );
  const there = routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
  expect(described.toSorted()).toEqual(there.toSorted());
});

test("an unknown address is not found, for allowed callers", async () => {
  expect((await site.get("/nothing")).status).toBe(404);
  expect((await ask(`${site.url}/nothing`, "GET")).status).toBe(401);
  expect((await ask(`${site.url}/runs`, "DELETE", { key: site.keys.acme.admin })).status).toBe(404);
});
