import { type Browser, chromium, type Page, type Request } from "playwright-core";
import type { Agent } from "reeve";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { patienceMs } from "../effort.ts";
import { bundlePage, Site, type SiteOptions } from "./site.ts";

let browser: Browser;
let files: Awaited<ReturnType<typeof bundlePage>>;
const open: AsyncDisposable[] = [];

beforeAll(async () => {
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const launched = chromium.launch({ executablePath: "/usr/bin/chromium", args: sandbox });
  [browser, files] = await Promise.all([launched, bundlePage()]);
});

afterAll(() => browser.close());

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each[Symbol.asyncDispose]();
});

export async function siteOf(
  agents: readonly Agent[],
  options: Omit<SiteOptions, "agents"> = {},
): Promise<Site> {
  const site = await Site.open(files, { agents, ...options });
  open.push(site);
  return site;
}

/** Opens the page of a site in its own window, in a chat with an agent. Default: the site's own origin. */
export async function visit(site: Site, name: string, { origin } = site): Promise<Page> {
  const context = await browser.newContext();
  open.push(context);
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs());
  const api = `${origin === site.origin ? "" : origin}/api/chat/${name}`;
  const address = `${site.origin}/?chat=pump&api=${encodeURIComponent(api)}`;
  // A page of a refused origin has no history. Others ask for an answer in progress, and without a reply to that they
  // can send nothing.
  if (origin === site.origin)
    await Promise.all([page.waitForResponse((reply) => reply.url().endsWith("/stream")), page.goto(address)]);
  else await page.goto(address);
  return page;
}

export async function ask(page: Page, question: string): Promise<void> {
  await page.getByRole("textbox").fill(question);
  await page.getByRole("button", { name: "Send" }).click();
}

/** Returns all messages on the page, and the state of the chat. */
export async function readChat(page: Page): Promise<readonly string[]> {
  const said = await page.locator("article").allInnerTexts();
  return [
    ...said.map((text) => text.replaceAll("✎", "").replaceAll(/\s+/g, " ").trim()),
    await page.locator("output").innerText(),
  ];
}

/** Reloads and waits until the page has received the newest answer: before that, it shows the history. */
export async function reload(page: Page): Promise<void> {
  const told = Promise.withResolvers<void>();
  const tell = (request: Request): void => void (request.url().endsWith("/stream") && told.resolve());
  // The hook disconnects after the last message, possibly before the server does.
  page.on("requestfinished", tell).on("requestfailed", tell);
  await page.reload();
  await told.promise;
}

export async function expectShown(page: Page, what: readonly string[]): Promise<void> {
  await expect.poll(() => readChat(page)).toEqual(what);
}
