import { readFileSync } from "node:fs";
import { type Browser, chromium, type Page, type Request } from "playwright-core";
import { agent, type Agent, type Json, type Model, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { talker } from "../server/talker.ts";
import { bundlePage, Site } from "./site.ts";

let browser: Browser;
let files: Awaited<ReturnType<typeof bundlePage>>;
const open: AsyncDisposable[] = [];

beforeAll(async () => {
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const launched = chromium.launch({ executablePath: "/usr/bin/chromium", args: sandbox });
  [browser, files] = await Promise.all([launched, bundlePage()]);
}, 60_000);

afterAll(() => browser.close());

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each[Symbol.asyncDispose]();
});

async function siteOf(agents: readonly Agent[], origins: readonly string[] = []): Promise<Site> {
  const site = await Site.open(files, { agents, origins });
  open.push(site);
  return site;
}

/** The page of a site in a window of its own, in a chat with an agent: the site's own, unless told otherwise. */
async function visit(site: Site, name: string, { origin } = site): Promise<Page> {
  const context = await browser.newContext();
  open.push(context);
  const page = await context.newPage();
  const api = `${origin === site.origin ? "" : origin}/api/chat/${name}`;
  await page.goto(`${site.origin}/?chat=mill&api=${encodeURIComponent(api)}`);
  await page.getByRole("textbox").waitFor();
  return page;
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByRole("textbox").fill(question);
  await page.getByRole("button", { name: "Send" }).click();
}

/** Everything that is said on the page, and how the chat stands. */
async function shown(page: Page): Promise<readonly string[]> {
  const said = await page.locator("article").allInnerTexts();
  return [
    ...said.map((text) => text.replaceAll(/\s+/g, " ").trim()),
    await page.locator("output").innerText(),
  ];
}

/** Until the page has been told the newest answer: before that, it shows what it has kept. */
async function reload(page: Page): Promise<void> {
  const told = Promise.withResolvers<void>();
  const tell = (request: Request): void => void (request.url().endsWith("/stream") && told.resolve());
  // The hook hangs up when it has heard the last word: that may be before the server does.
  page.on("requestfinished", tell).on("requestfailed", tell);
  await page.reload();
  await told.promise;
}

const patience = { timeout: 10_000 };

async function expectShown(page: Page, what: readonly string[]): Promise<void> {
  await expect.poll(() => shown(page), patience).toEqual(what);
}

const pieces = ["The mill ", "was built ", "in 1287."];
const whole = ["When?", "The mill was built in 1287.", "ready"];

test("the page of the guide is the one that is tested", () => {
  const page = readFileSync(`${import.meta.dirname}/page/chat.tsx`, "utf8");
  expect(readFileSync("docs/guide/server.md", "utf8")).toContain(page);
});

test("an answer grows on the page while the model speaks", async () => {
  const { model, next } = talker(pieces);
  const page = await visit(await siteOf([agent({ name: "talker", model })]), "talker");
  await ask(page, "When?");
  next();
  await expectShown(page, ["When?", "The mill", "streaming"]);
  next();
  await expectShown(page, ["When?", "The mill was built", "streaming"]);
  next();
  await expectShown(page, whole);
  await ask(page, "Really?");
  await expectShown(page, [...whole.slice(0, 2), "Really?", ...whole.slice(1)]);
});

test("a connection that breaks in the middle of an answer: the page goes on, and nothing is said or asked twice", async () => {
  const { model, next, asked } = talker(pieces);
  const site = await siteOf([agent({ name: "talker", model })]);
  const page = await visit(site, "talker");
  await ask(page, "When?");
  next();
  await expectShown(page, ["When?", "The mill", "streaming"]);
  site.wire.cut();
  await expectShown(page, ["When?", "The mill", "reconnecting"]);
  site.wire.mend();
  await expectShown(page, ["When?", "The mill", "streaming"]);
  next();
  next();
  await expectShown(page, whole);
  expect(asked()).toBe(1);
});

test("an answer that ended while the page was cut off is there whole when it comes back", async () => {
  const { model, next, asked } = talker(pieces);
  const site = await siteOf([agent({ name: "talker", model })]);
  const page = await visit(site, "talker");
  await ask(page, "When?");
  next();
  await expectShown(page, ["When?", "The mill", "streaming"]);
  site.wire.cut();
  next();
  next();
  const statuses = async () => (await site.runtime.runs.list()).items.map(({ status }) => status);
  await expect.poll(statuses, patience).toEqual(["completed"]);
  site.wire.mend();
  await expectShown(page, whole);
  expect(asked()).toBe(1);
});

test("a question that was lost on its way is asked again, once", async () => {
  const { model, next, asked } = talker(pieces);
  const site = await siteOf([agent({ name: "talker", model })]);
  const page = await visit(site, "talker");
  site.wire.cut();
  await ask(page, "When?");
  await expectShown(page, ["When?", "reconnecting"]);
  site.wire.mend();
  for (const _ of pieces) next();
  await expectShown(page, whole);
  expect(asked()).toBe(1);
});

test("a question that arrived, and nobody heard so, is asked again and is the same one", async () => {
  const { model, next, asked } = talker(pieces);
  const site = await siteOf([agent({ name: "talker", model })]);
  const page = await visit(site, "talker");
  site.wire.silence();
  await ask(page, "When?");
  await expect.poll(asked, patience).toBe(1);
  site.wire.cut();
  await expectShown(page, ["When?", "reconnecting"]);
  site.wire.mend();
  for (const _ of pieces) next();
  await expectShown(page, whole);
  expect(asked()).toBe(1);
});

test("a page that is loaded again in the middle of an answer shows it from its beginning", async () => {
  const { model, next, asked } = talker(pieces);
  const page = await visit(await siteOf([agent({ name: "talker", model })]), "talker");
  await ask(page, "When?");
  next();
  await expectShown(page, ["When?", "The mill", "streaming"]);
  await page.reload();
  await expectShown(page, ["When?", "The mill", "streaming"]);
  next();
  next();
  await expectShown(page, whole);
  await reload(page);
  await expectShown(page, whole);
  expect(asked()).toBe(1);
});

/** Somebody who asks before a field is sold, then says what `concludes` says; and what was really sold. */
function seller(concludes: Model = scriptedModel([say("So be it.")])): {
  readonly agent: Agent;
  readonly sold: readonly Json[];
} {
  const sold: Json[] = [];
  const sell = tool({
    name: "sell",
    description: "Sell a field",
    input: z.object({ field: z.string(), price: z.number() }),
    risk: "high",
    execute: async (input) => {
      sold.push(input);
      return "done";
    },
  });
  const first = scriptedModel([call("sell", { field: "north", price: 12 })]);
  const model: Model = {
    id: "seller",
    generate: (request, options) =>
      (first.requests.length === 0 ? first : concludes).generate(request, options),
  };
  const permissions = { decide: () => "ask" as const };
  return { agent: agent({ name: "seller", model, tools: [sell], permissions }), sold };
}

const question = 'sell {"field":"north","price":12}: approval-requested Approve Deny';
const sale = 'sell {"field":"north","price":12}: output-available So be it.';

test("a call that is approved on the page is made, once and as it was shown", async () => {
  const { agent: asks, sold } = seller();
  const page = await visit(await siteOf([asks]), "seller");
  await ask(page, "Sell it");
  await expectShown(page, ["Sell it", question, "ready"]);
  expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  expect(sold).toEqual([]);
  await page.getByRole("button", { name: "Approve" }).click();
  await expectShown(page, ["Sell it", sale, "ready"]);
  expect(sold).toEqual([{ field: "north", price: 12 }]);
});

test("a call that is denied on the page is not made, and the model hears of it", async () => {
  const model = scriptedModel([say("So be it.")]);
  const { agent: asks, sold } = seller(model);
  const page = await visit(await siteOf([asks]), "seller");
  await ask(page, "Sell it");
  await page.getByRole("button", { name: "Deny" }).click();
  const denied = 'sell {"field":"north","price":12}: output-denied So be it.';
  await expectShown(page, ["Sell it", denied, "ready"]);
  expect(sold).toEqual([]);
  expect(JSON.stringify(model.requests.map(({ messages }) => messages.at(-1)))).toContain("denied");
});

test("a page that is loaded again while a question is open shows it again, and anybody can answer it once", async () => {
  const { agent: asks, sold } = seller();
  const site = await siteOf([asks]);
  const page = await visit(site, "seller");
  await ask(page, "Sell it");
  await expectShown(page, ["Sell it", question, "ready"]);
  await reload(page);
  await expectShown(page, ["Sell it", question, "ready"]);
  // Another window has kept nothing: what it shows is the server's.
  const another = await visit(site, "seller");
  await expectShown(another, [question, "ready"]);
  await another.getByRole("button", { name: "Approve" }).click();
  await expectShown(another, [sale, "ready"]);
  await page.getByRole("button", { name: "Deny" }).click();
  await expectShown(page, ["Sell it", sale, "ready"]);
  expect(sold).toEqual([{ field: "north", price: 12 }]);
});

test("a connection that breaks after an approval: the call is made once, and the answer goes on below it", async () => {
  const { model, next } = talker(["So ", "be it."]);
  const { agent: asks, sold } = seller(model);
  const site = await siteOf([asks]);
  const page = await visit(site, "seller");
  await ask(page, "Sell it");
  await page.getByRole("button", { name: "Approve" }).click();
  next();
  const half = sale.replace("be it.", "").trim();
  await expectShown(page, ["Sell it", half, "streaming"]);
  site.wire.cut();
  await expectShown(page, ["Sell it", half, "reconnecting"]);
  site.wire.mend();
  await expectShown(page, ["Sell it", half, "streaming"]);
  next();
  await expectShown(page, ["Sell it", sale, "ready"]);
  expect(sold).toEqual([{ field: "north", price: 12 }]);
});

test("an approval that is lost on its way is asked for again, and the call is made once", async () => {
  const { agent: asks, sold } = seller();
  const site = await siteOf([asks]);
  const page = await visit(site, "seller");
  await ask(page, "Sell it");
  await expectShown(page, ["Sell it", question, "ready"]);
  site.wire.cut();
  await page.getByRole("button", { name: "Approve" }).click();
  await expectShown(page, ["Sell it", question.replace(/requested.*/, "responded"), "reconnecting"]);
  site.wire.mend();
  await expectShown(page, ["Sell it", question, "ready"]);
  expect(sold).toEqual([]);
  await page.getByRole("button", { name: "Approve" }).click();
  await expectShown(page, ["Sell it", sale, "ready"]);
  expect(sold).toEqual([{ field: "north", price: 12 }]);
});

test("a page of another origin is refused, whichever way it asks, and one that is listed is not", async () => {
  const { model, next } = talker(pieces);
  const elsewhere = await siteOf([]);
  const site = await siteOf([agent({ name: "talker", model })]);
  const page = await visit(elsewhere, "talker", site);
  await expectShown(page, ["reconnecting"]);
  const fetched = (
    path: string,
    init: { mode?: "no-cors"; method?: string; body?: string; headers?: Record<string, string> },
  ) =>
    page.evaluate(([url, given]) => fetch(url, given).then(String, String), [
      site.origin + path,
      init,
    ] as const);
  const refused = "TypeError: Failed to fetch";
  const headers = { "content-type": "application/json" };
  expect(await fetched("/api/chat/talker", { method: "POST", body: "{}", headers })).toBe(refused);
  // A page need not ask for leave where it does not want to read the answer.
  expect(await fetched("/api/agents", { mode: "no-cors" })).toBe(refused);
  expect(await fetched("/api/chat/talker", { mode: "no-cors", method: "POST", body: "{}" })).toBe(refused);
  await expect
    .poll(() => new Set(site.answers), patience)
    .toEqual(
      new Set([
        "GET /api/chat/talker/mill/stream 403",
        "OPTIONS /api/chat/talker 403",
        "GET /api/agents 403",
        "POST /api/chat/talker 403",
      ]),
    );
  expect((await site.runtime.runs.list()).items).toEqual([]);

  const listing = await siteOf([agent({ name: "talker", model })], [elsewhere.origin]);
  const listed = await visit(elsewhere, "talker", listing);
  await ask(listed, "When?");
  for (const _ of pieces) next();
  await expectShown(listed, whole);
});
