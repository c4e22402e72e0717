// The pages that runs have open in one browser.
// Job: start the browser with the first page, give each run its own context, and close unused ones.
// Invariants:
// 1. No two runs share cookies or storage.
// 2. Nothing is loaded from a host that is not allowed, and a page that was redirected to one is closed.
// 3. At most `maxPages` are open, because a crashed worker, or a run that moves to another worker, closes nothing.
import { chromium, type Browser, type BrowserContext, type LaunchOptions, type Page } from "playwright-core";
import type { RunId } from "#kernel";
import { isAllowed, type AllowedHosts } from "./hosts.ts";

/** Settings of the pages. */
export interface PagesOptions {
  readonly hosts: AllowedHosts;
  readonly launch: LaunchOptions;
  readonly maxPages: number;
  readonly timeoutMs: number;
}

/** The pages of all runs on this worker. */
export class Pages {
  readonly #options: PagesOptions;
  #browser: Promise<Browser> | null = null;
  /** The least recently used one first. */
  readonly #pages = new Map<RunId, Promise<Page>>();

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** The page of a run; undefined: it has none. */
  get(run: RunId): Promise<Page> | undefined {
    const page = this.#pages.get(run);
    if (page) this.#touch(run, page);
    return page;
  }

  /** Opens an address in the page of a run. @throws Error if its host is not allowed, or it cannot be loaded. */
  async open(run: RunId, address: string, signal: AbortSignal): Promise<Page> {
    this.#expectAllowed(address);
    const page = await (this.get(run) ?? this.#create(run));
    try {
      await page.goto(address, { timeout: this.#options.timeoutMs, signal });
      this.#expectAllowed(page.url());
      return page;
    } catch (error) {
      if (!isAllowed(page.url(), this.#options.hosts)) await this.close(run);
      throw error;
    }
  }

  async close(run: RunId): Promise<void> {
    const opened = this.#pages.get(run);
    this.#pages.delete(run);
    const page = await opened?.catch(() => null);
    await page?.context().close();
  }

  /** Ends the browser, with all pages. */
  async end(): Promise<void> {
    this.#pages.clear();
    const launched = this.#browser;
    this.#browser = null;
    const started = await launched?.catch(() => null);
    await started?.close();
  }

  async #create(run: RunId): Promise<Page> {
    const [oldest] = this.#pages.keys();
    if (oldest && this.#pages.size >= this.#options.maxPages) await this.close(oldest);
    const page = this.#newPage();
    this.#touch(run, page);
    page.catch(() => this.#pages.delete(run));
    return page;
  }

  async #newPage(): Promise<Page> {
    const started = await (this.#browser ??= this.#launch());
    const context = await started.newContext({ serviceWorkers: "block", acceptDownloads: false });
    await this.#guard(context);
    return context.newPage();
  }

  async #launch(): Promise<Browser> {
    try {
      const started = await chromium.launch(this.#options.launch);
      started.on("disconnected", () => {
        this.#browser = null;
        this.#pages.clear();
      });
      return started;
    } catch (error) {
      this.#browser = null;
      throw error;
    }
  }

  async #guard(context: BrowserContext): Promise<void> {
    const { hosts } = this.#options;
    await context.route("**/*", async (route) => {
      const isFine = isAllowed(route.request().url(), hosts);
      await (isFine ? route.continue() : route.abort("blockedbyclient"));
    });
    await context.routeWebSocket(/.*/, (socket) => void socket.close());
  }

  #expectAllowed(address: string): void {
    if (isAllowed(address, this.#options.hosts)) return;
    const host = URL.canParse(address) ? new URL(address).host : "";
    throw new Error(
      host === ""
        ? `invalid web address ${JSON.stringify(address)}: it must start with https://`
        : `host "${host}" is not allowed: add it to browser({ hosts })`,
    );
  }

  #touch(run: RunId, page: Promise<Page>): void {
    this.#pages.delete(run);
    this.#pages.set(run, page);
  }
}
