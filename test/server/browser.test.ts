import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiKeyRecord } from "reeve/store";
import { createRuntime } from "reeve";
import { isJsonObject } from "#kernel";
import { apiKeys, createApiKey, listen, type PageOptions } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { manualClock } from "reeve/testing";
import { expect, onTestFinished, test } from "vitest";
import { routes } from "../../src/server/routes.ts";
import { ask, codeOf, type Question, type Reply } from "./ask.ts";
import { closing } from "./closing.ts";
import { TestServer, approvalAgent } from "./test-server.ts";

const statusAndCode = (reply: Reply): readonly unknown[] => [reply.status, codeOf(reply)];

/** Signs in with a key. Returns the cookie. */
async function signIn(url: string, key: string, headers: Question["headers"] = {}): Promise<string> {
  const { status, headers: given } = await ask(`${url}/session`, "POST", { key, headers });
  expect(status).toBe(200);
  return (given["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";
}

test("a key is exchanged for a cookie that scripts cannot read and other sites do not send", async () => {
  const site = closing(await TestServer.open());
  const key = site.keys.acme.read;
  const reply = await ask(`${site.url}/session`, "POST", { key });
  expect(reply.headers["set-cookie"]?.[0]).toMatch(
    /^reeve=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43\d{3}$/,
  );
  expect(reply.text).not.toContain(key);
  const cookie = (reply.headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";
  const me = await ask(`${site.url}/me`, "GET", { headers: { cookie } });
  expect(me.json).toMatchObject({ tenant: "acme", user: null, scopes: ["read"], limits: null });
  expect((await ask(`${site.url}/runs`, "GET", { headers: { cookie } })).status).toBe(200);
  // A session opens no other session: it ends at its own time.
  const again = await ask(`${site.url}/session`, "POST", { headers: { cookie, origin: site.url } });
  expect(statusAndCode(again)).toEqual([401, "unauthorized"]);
  const left = await ask(`${site.url}/session`, "DELETE", { headers: { cookie, origin: site.url } });
  expect(left.headers["set-cookie"]?.[0]).toContain("reeve=; ");
  expect(statusAndCode(await ask(`${site.url}/me`, "GET", { headers: { cookie } }))).toEqual([
    401,
    "unauthorized",
  ]);
});

test("on a public host name the cookie requires TLS", async () => {
  const { key, record } = createApiKey({ tenant: null, scopes: ["read"], expiresAt: Date.now() + 60_000 });
  const hosts = ["desk.example"];
  const site = closing(await TestServer.open({ auth: apiKeys([record]), hosts }));
  const headers = { host: "desk.example" };
  const { headers: given } = await ask(`${site.url}/session`, "POST", { key, headers });
  const [set = ""] = given["set-cookie"] ?? [];
  expect(set).toMatch(
    /^__Host-reeve=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d{1,2}; Secure$/,
  );
  const cookie = set.split(";")[0] ?? "";
  expect((await ask(`${site.url}/me`, "GET", { headers: { ...headers, cookie } })).status).toBe(200);
  // Another name has another cookie.
  expect((await ask(`${site.url}/me`, "GET", { headers: { cookie } })).status).toBe(401);
});

test("a session has the rights of its key, and ends with it", async () => {
  const clock = manualClock(1_000);
  const { key, record } = createApiKey({ tenant: "acme", scopes: ["read"], expiresAt: 50 * 3_600_000 });
  let found: ApiKeyRecord | null = record;
  const auth = apiKeys({ find: async () => found }, { clock });
  const site = closing(await TestServer.open({ auth, clock }));
  const me = async (headers: Readonly<Record<string, string>>): Promise<readonly unknown[]> => {
    const { status, json } = await ask(`${site.url}/me`, "GET", { headers });
    return [status, isJsonObject(json) ? json["scopes"] : null];
  };
  const cookie = await signIn(site.url, key);
  found = { ...record, scopes: ["read", "run"] };
  expect(await me({ cookie })).toEqual([200, ["read", "run"]]);
  found = null;
  expect((await me({ cookie }))[0]).toBe(401);
  found = record;
  expect((await me({ cookie }))[0]).toBe(401);
  const second = await signIn(site.url, key);
  await clock.advance(12 * 3_600_000 - 1);
  expect((await me({ cookie: second }))[0]).toBe(200);
  await clock.advance(1);
  expect((await me({ cookie: second }))[0]).toBe(401);
});

test("a session that a backend opened for a user reaches that user alone", async () => {
  const scopes = ["read", "act-for-users"] as const;
  const { key, record } = createApiKey({ tenant: "acme", scopes, expiresAt: Date.now() + 3_600_000 });
  const site = closing(await TestServer.open({ auth: apiKeys([record]) }));
  const cookie = await signIn(site.url, key, { "x-reeve-user": "u-ada" });
  const me = await ask(`${site.url}/me`, "GET", { headers: { cookie } });
  expect(me.json).toMatchObject({ user: "u-ada" });
  const forged = await ask(`${site.url}/runs`, "GET", { headers: { cookie, "x-reeve-user": "u-bob" } });
  expect(statusAndCode(forged)).toEqual([403, "forbidden"]);
});

const each = routes.map((route) => [`${route.method} ${route.path}`, route] as const);

test.each(each)("%s: a page of another origin cannot use a session", async (_, { method, path }) => {
  const site = closing(await TestServer.open({ origins: ["https://desk.example"] }));
  const cookie = await signIn(site.url, site.keys.acme.admin);
  const url = `${site.url}${path.replaceAll(/:\w+/g, "x")}`;
  const from = (headers: Readonly<Record<string, string>>): Promise<Reply> =>
    ask(url, method.toUpperCase(), { headers: { cookie, ...headers } });
  const strange: readonly Readonly<Record<string, string>>[] = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "https://desk.example" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    ...(method === "get" ? [] : [{}]),
  ];
  for (const headers of strange) expect(statusAndCode(await from(headers))).toEqual([403, "wrong-origin"]);
  const own = await from({ origin: site.url });
  expect(codeOf(own)).not.toBe("wrong-origin");
  // A session opens no other one.
  expect(own.status === 401).toBe(`${method} ${path}` === "post /session");
});

const script = "export const page = 1;\n".repeat(50);

/** A server with a small page. */
async function serve(ui: boolean | PageOptions = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "view-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "assets"));
  const index =
    '<meta name="reeve-base" content="/ui" /><script type="module" src="/ui/assets/a-1.js"></script>';
  writeFileSync(join(folder, "index.html"), index);
  writeFileSync(join(folder, "assets/a-1.js"), script);
  writeFileSync(join(folder, "assets/a-1.js.map"), "{}");
  writeFileSync(join(folder, "secret.pem"), "words");
  const runtime = createRuntime({ agents: [approvalAgent()], store: memoryStore() });
  closing(runtime);
  const options = typeof ui === "boolean" ? ui : { folder, ...ui };
  const { record } = createApiKey({ tenant: null, scopes: ["read"], expiresAt: Date.now() + 60_000 });
  const listener = closing(await listen({ runtime, port: 0, auth: apiKeys([record]), ui: options }));
  return listener.url;
}

test("the page needs no key, and has headers under which no foreign code runs", async () => {
  const url = await serve();
  for (const path of ["/ui", "/ui/", "/ui/runs", "/ui/runs/a.tree", "/ui/runs/%2e%2e/x"]) {
    const { status, headers, text } = await ask(url + path, "GET");
    expect([status, headers["cache-control"]]).toEqual([200, "no-cache"]);
    expect(text).toContain("/ui/assets/a-1.js");
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    const policy = String(headers["content-security-policy"]);
    for (const rule of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"])
      expect(policy).toContain(rule);
    expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
    expect(headers).toMatchObject({
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
  }
  const file = await ask(`${url}/ui/assets/a-1.js`, "GET");
  expect([file.status, file.text]).toEqual([200, script]);
  expect(file.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  const small = await ask(`${url}/ui/assets/a-1.js`, "GET", { headers: { "accept-encoding": "gzip" } });
  expect(small.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
  expect(small.text.length).toBeLessThan(script.length / 4);
});

test("only files of the page are served, by their exact names", async () => {
  const url = await serve();
  for (const path of [
    "a-2.js",
    "a-1.js.map",
    "../secret.pem",
    "..%2fsecret.pem",
    "%2e%2e/%2e%2e/etc/passwd",
  ]) {
    const { text, status } = await ask(`${url}/ui/assets/${path}`, "GET");
    expect(text).not.toContain("words");
    // Some of these paths lead out of the page, where a key is needed.
    expect([200, 401, 404]).toContain(status);
  }
  expect((await ask(`${url}/ui/assets/a-2.js`, "GET")).status).toBe(404);
  expect((await ask(`${url}/ui/secret.pem`, "GET")).text).not.toContain("words");
  expect((await ask(`${url}/ui/assets/a-1.js`, "POST")).status).toBe(401);
  const strange = await ask(`${url}/ui`, "GET", { headers: { host: "evil.example" } });
  expect(statusAndCode(strange)).toEqual([421, "host-not-allowed"]);
});

test("a browser that asks for / is sent to the page, a program is not", async () => {
  const url = await serve();
  const browser = await ask(`${url}/`, "GET", { headers: { accept: "text/html,*/*" } });
  expect([browser.status, browser.headers.location]).toEqual([302, "/ui"]);
  expect((await ask(`${url}/`, "GET")).status).toBe(401);
});

test("below another path the page names its files there", async () => {
  const url = await serve({ base: "/reeve/ui" });
  const { text } = await ask(`${url}/ui`, "GET");
  expect(text).toContain('content="/reeve/ui"');
  expect(text).toContain('src="/reeve/ui/assets/a-1.js"');
  await expect(serve({ base: '/"><script>' })).rejects.toThrow("ui.base must be a path");
});

test("a page that is not built shows how to build it, and a disabled page is not found", async () => {
  const { status, text } = await ask(`${await serve({ folder: "/no/such/folder" })}/ui`, "GET");
  expect([status, text]).toEqual([404, expect.stringContaining("npm run build")]);
  expect((await ask(`${await serve(false)}/ui`, "GET")).status).toBe(401);
});
