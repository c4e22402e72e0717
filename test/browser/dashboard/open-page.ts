import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import type { Agent } from "reeve";
import type { Auth } from "reeve/server";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { buildPage } from "../../../ui/build.ts";
import { DashboardSite, type SiteOptions } from "./dashboard-site.ts";
import { patienceMs } from "../../effort.ts";

export const pageFolder = `${import.meta.dirname}/../../../node_modules/.cache/reeve/ui`;
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pictures = process.env["REEVE_PICTURES"];
let browser: Browser;
const open: AsyncDisposable[] = [];

beforeAll(async () => {
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const launched = chromium.launch({ executablePath: "/usr/bin/chromium", args: sandbox });
  [browser] = await Promise.all([launched, buildPage(pageFolder)]);
});

afterAll(() => browser.close());

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each[Symbol.asyncDispose]();
});

/** Opens a server with the page for agents. Default: no key is needed, and the reader may do everything. */
export async function siteOf(
  agents: readonly Agent[],
  auth: Auth | "none" = "none",
  options: SiteOptions = {},
): Promise<DashboardSite> {
  const site = await DashboardSite.open(pageFolder, agents, auth, options);
  open.push(site);
  return site;
}

/** The page in a window of its own, and everything that went wrong in it. */
export interface Visit {
  readonly page: Page;
  /** Violations of the policy, uncaught errors, dialogs, and requests to other origins. */
  readonly faults: readonly string[];
}

interface VisitOptions {
  readonly theme?: "light" | "dark";
  readonly width?: number;
  /** Tabs of one context share their workers. Default: a context of its own. */
  readonly context?: BrowserContext;
  /** Code that runs before the page's. */
  readonly script?: string;
}

/** Opens a browser context: its tabs share cookies and workers. */
export async function openContext({
  theme = "light",
  width = 1440,
}: VisitOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 900 } });
  open.push(context);
  context.setDefaultTimeout(patienceMs());
  return context;
}

/** Opens an address below `/ui`. */
export async function visit(
  site: { readonly origin: string },
  path: string,
  options: VisitOptions = {},
): Promise<Visit> {
  const context = options.context ?? (await openContext(options));
  const page = await context.newPage();
  if (options.script !== undefined) await page.addInitScript(options.script);
  const faults: string[] = [];
  page.on("console", (message) => {
    const text = message.text();
    if (text.includes("Content Security Policy") || text.includes("TrustedHTML")) faults.push(text);
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(site.origin)) faults.push(`request: ${request.url()}`);
  });
  await page.goto(`${site.origin}/ui${path}`);
  return { page, faults };
}

/** Presses Enter on a button if it is there: one that decides is gone at some moment after it was pressed. */
export async function pressIfShown(button: Locator): Promise<void> {
  await button.press("Enter", { timeout: 1_000 }).catch(() => undefined);
}

/** Fails on any axe finding, of any severity, by WCAG 2.2 AA. */
export async function expectAccessible(page: Page): Promise<void> {
  // Evaluated by the debugger, which the policy of the page does not bind.
  await page.evaluate(axeSource);
  const findings = await page.evaluate<readonly string[]>(`(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await axe.run(document, { runOnly: tags });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 160) + " " + failureSummary));
  })()`);
  expect(findings).toEqual([]);
}

/** Keeps a picture where `REEVE_PICTURES` names a folder. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  await page.screenshot({ path: `${pictures}/${name}.jpg`, type: "jpeg", quality: 55 });
}
