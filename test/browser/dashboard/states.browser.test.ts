import type { Page } from "playwright-core";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { afterEach, expect, test, vi } from "vitest";
import type { DashboardSite, SiteOptions } from "./dashboard-site.ts";
import { expectAccessible, keepPicture, siteOf, visit } from "./open-page.ts";
import { reportTeam } from "./report-team.ts";
import { sample } from "../../effort.ts";

const themes = ["light", "dark"] as const;

/** A site with a tree that lives, and whose reviewer waits for the model. */
async function liveSite(options: SiteOptions = {}): Promise<DashboardSite> {
  const { agents, lead, reviewing } = reportTeam();
  const site = await siteOf(agents, "none", options);
  await site.runtime.start(lead, "Prepare the report", { id: "report", budget: { maxCostUsd: 1 } });
  await expect.poll(() => reviewing.calls.length).toBe(1);
  return site;
}

/** Replaces what a runtime tells of itself. */
const tell = (site: DashboardSite, name: "storeHealth" | "hasWorkers", value: unknown): void =>
  void Object.defineProperty(site.runtime, name, { get: () => value });

const healthy = { lagMs: 0, failedWrites: 0, reducedTrees: 0 };

interface State {
  readonly options?: () => SiteOptions;
  /** Brings the site into the state, before or after the page is opened. */
  readonly prepare?: (site: DashboardSite) => void;
  readonly act?: (site: DashboardSite, page: Page) => Promise<void>;
  readonly path?: string;
  /** The sentences: the state, and what to do. */
  readonly says: readonly (string | RegExp)[];
}

async function steer(page: Page): Promise<void> {
  await page.getByRole("treegrid").waitFor();
  await page.keyboard.press("s");
  const dialog = page.getByRole("dialog", { name: "Steer lead" });
  await dialog.getByRole("textbox").fill("Be brief");
  await dialog.getByRole("button", { name: "Steer" }).click();
}

/** An engine that can stop answering. */
class DeafEngine {
  #isDeaf = false;
  readonly engine: ReturnType<typeof local>;

  constructor() {
    const engine = local();
    const call: typeof engine.call = (to, method, argument) =>
      this.#isDeaf ? new Promise<never>(() => undefined) : engine.call(to, method, argument);
    this.engine = { ...engine, call };
  }

  deafen(): void {
    this.#isDeaf = true;
  }
}

let deaf = new DeafEngine();
const floods: NodeJS.Timeout[] = [];

afterEach(() => {
  for (const each of floods.splice(0)) clearInterval(each);
});

function unreachableStore(): SiteOptions["store"] & object {
  const store = memoryStore();
  vi.spyOn(store.workers, "list").mockRejectedValue(new Error("connect ECONNREFUSED"));
  return store;
}

const states: Readonly<Record<string, State>> = {
  behind: {
    prepare: (site) => tell(site, "storeHealth", { ...healthy, lagMs: 12_000 }),
    says: [/^The store is 12\s?s behind\.$/, /check the database's load/],
  },
  failing: {
    prepare: (site) => tell(site, "storeHealth", { ...healthy, lagMs: 12_000, failedWrites: 7 }),
    says: [/^The store is 12\s?s behind\.$/, /The last 7 tries to write to it have failed/],
  },
  reduced: {
    prepare: (site) => tell(site, "storeHealth", { ...healthy, reducedTrees: 2 }),
    says: ["The store rejected values of 2 trees.", /without names and content/],
  },
  "no-worker": {
    prepare: (site) => tell(site, "hasWorkers", true),
    says: ["No worker is connected: runs wait until one starts.", /npx reeve dev/],
  },
  "too-many": {
    options: () => ({ limits: { requestsPerMinute: 60 } }),
    act: async ({ origin }, page) => {
      await page.getByRole("treegrid").waitFor();
      const ask = async (): Promise<number> => (await fetch(`${origin}/me`)).status;
      while ((await ask()) !== 429);
      // Each request that the limit gives back is taken at once.
      floods.push(setInterval(() => void ask().catch(() => undefined), 20));
      await steer(page);
    },
    path: "/runs/report",
    says: [/^Not started: try again in \d+ s/],
  },
  "no-answer": {
    options: () => {
      deaf = new DeafEngine();
      return { limits: { requestTimeoutMs: 1_000 }, engine: deaf.engine };
    },
    act: async (_, page) => {
      await page.getByRole("treegrid").waitFor();
      deaf.deafen();
      await steer(page);
    },
    path: "/runs/report",
    says: ["No answer: the action may still happen. It was retried with the same id."],
  },
  "store-gone": {
    options: () => ({ store: unreachableStore() }),
    says: ["The store does not answer: nothing new can be read.", /Check the server's database/],
  },
  failed: {
    prepare: (site) =>
      void vi.spyOn(site.runtime.store.runs, "list").mockRejectedValue(new Error("relation is missing")),
    says: [/^The server failed\. Its log has the reason under [0-9a-f-]{36}\./],
  },
};

const cases = Object.keys(states).flatMap((name) => themes.map((theme) => [name, theme] as const));

test.each(sample(cases, 0.4, String))(
  "the state %s is shown as text, with the next step, in %s",
  async (name, theme) => {
    const { options, prepare, act, path = "/runs", says } = states[name] ?? { says: [] };
    const site = await liveSite(options?.());
    prepare?.(site);
    const { page, faults } = await visit(site, path, { theme });
    await act?.(site, page);
    for (const text of says) await page.getByText(text).first().waitFor();
    await expectAccessible(page);
    await keepPicture(page, `state-${name}-${theme}`);
    expect(faults).toEqual([]);
  },
);
