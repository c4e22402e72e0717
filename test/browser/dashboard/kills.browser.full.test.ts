import type { Page } from "playwright-core";
import { Json, type NumberedEvent, TreeId } from "reeve";
import type { Store } from "reeve/store";
import { afterEach, expect, test } from "vitest";
import { TreeModel } from "../../../src/view/index.ts";
import { countText, dollars } from "../../../ui/parts/amounts.ts";
import { Subscription } from "../../server/sse.ts";
import { openStore } from "./fixtures/open-store.ts";
import { children } from "./fixtures/steady-team.ts";
import { percentile, takeTap, tapScript } from "./live-tap.ts";
import { expectAccessible, keepPicture, openContext, visit } from "./open-page.ts";
import { RestateSite, type StoreKind, storeKinds } from "./restate-site.ts";
import { expectWithin } from "../../effort.ts";

const sites: RestateSite[] = [];

afterEach(async () => {
  for (const site of sites.splice(0)) await site[Symbol.asyncDispose]();
});

/** The number of events that the store has of a tree. */
async function countEvents(store: Store, tree: string): Promise<number> {
  for (let after = 0; ;) {
    const found = await store.events.read({ tenantId: null }, TreeId.of(tree), { after, limit: 1000 });
    if (found.length === 0) return after;
    after += found.length;
  }
}

/** Returns all events of an ended tree, as served. */
async function eventsOf(origin: string, tree: string): Promise<readonly NumberedEvent[]> {
  const stream = await Subscription.to(`${origin}/runs/${tree}/events?deltas=false`, {});
  const messages = await stream.readToEnd();
  return messages.filter(({ id }) => id !== null).map(({ data }) => Json.as(JSON.parse(data)));
}

/** Asserts that a page shows every event of a tree that is over, and its money. */
async function expectWhole(page: Page, origin: string, tree: string): Promise<void> {
  await expect.poll(() => page.locator(".keys .right").textContent()).toMatch(/^event [\d,]+ · over$/);
  const events = await eventsOf(origin, tree);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const view = TreeModel.of(events).view;
  if (!view) throw new Error("there is a tree");
  expect(view.counts).toMatchObject({ agents: children + 1, live: 0 });
  expect(await page.locator(".keys .right").textContent()).toBe(
    `event ${events.length.toLocaleString("en-US")} · over`,
  );
  const head = (await page.locator(".head").textContent()) ?? "";
  const { costMicros, inDoubtMicros } = view.root;
  expect(head).toContain(`${dollars(costMicros - inDoubtMicros)} spent`);
  expect(head).toContain(dollars(inDoubtMicros));
  expect(head).toContain(countText(view.counts.calls, "call"));
  expect(head).toContain(`${children + 1} in all`);
  const numbers = (await takeTap(page)).messages.map(({ seq }) => seq);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
}

/** Kills each part in turn and starts it again. */
async function killAll(site: RestateSite): Promise<void> {
  await site.kill("worker");
  await site.start("worker");
  await site.postgres?.kill();
  await site.postgres?.restart();
  await site.kill("server");
  await site.start("server");
}

const tries = 5;

/** Tops a tree up several times by keyboard. Returns the milliseconds until the page showed each. */
async function topUps(page: Page): Promise<readonly number[]> {
  const times: number[] = [];
  for (let n = 1; n <= tries; n += 1) {
    await page.keyboard.press("t");
    await page.getByRole("dialog", { name: "Top up writer" }).waitFor();
    const began = performance.now();
    await page.keyboard.press("Enter");
    await page.getByText(`free of $${(5 + n * 0.2).toFixed(2)}`).waitFor();
    times.push(performance.now() - began);
  }
  return times;
}

test.each<StoreKind>(storeKinds)(
  "with %s the page shows every event of 5 trees of 30 agents once and acts at once, while each part is killed in turn",
  async (kind) => {
    const site = await RestateSite.open(kind);
    sites.push(site);
    const { origin } = site;
    await using store = await openStore(site.store);
    const trees = Array.from({ length: 5 }, (_, n) => `tree-${n}`);
    const start = { agent: "lead", input: "Prepare the report", budget: { maxCostUsd: 5 } };
    for (const id of trees) expect(await site.begin({ ...start, id })).toBe(202);
    const context = await openContext();
    const tabs = [];
    for (const tree of trees)
      tabs.push({ tree, ...(await visit(site, `/runs/${tree}`, { context, script: tapScript })) });
    const total = async (): Promise<number> =>
      (await Promise.all(trees.map((tree) => countEvents(store, tree)))).reduce((sum, each) => sum + each, 0);
    for (let round = 0; round < 2; round += 1) {
      const before = await total();
      await expect.poll(total).toBeGreaterThan(before + 100);
      await killAll(site);
    }
    for (const { tree, page, faults } of tabs) {
      await expectWhole(page, origin, tree);
      expect(faults.filter((fault) => !fault.includes("ERR_CONNECTION"))).toEqual([]);
    }
    // A tree that waits for approval, so that it lives.
    expect(await site.begin({ ...start, agent: "writer", id: "after" })).toBe(202);
    const { page } = await visit(site, "/runs/after", { context });
    await page.getByRole("treegrid").waitFor();
    // One slow answer says nothing.
    expectWithin(1_000, percentile(await topUps(page), 0.5));
  },
);

test("while PostgreSQL is down the page says so and keeps what it shows, and it continues by itself", async () => {
  const site = await RestateSite.open("PostgreSQL");
  sites.push(site);
  const start = { agent: "writer", input: "Prepare the report", budget: { maxCostUsd: 5 }, id: "after" };
  expect(await site.begin(start)).toBe(202);
  const { page, faults } = await visit(site, "/runs/after");
  const tree = page.getByRole("treegrid");
  await tree.getByText("writer").first().waitFor();
  const line = page.getByText("The store does not answer: nothing new can be read.");
  expect(await line.count()).toBe(0);
  await site.postgres?.kill();
  await line.waitFor();
  expect(await tree.getByText("writer").count()).toBeGreaterThan(0);
  await expectAccessible(page);
  await keepPicture(page, "store-gone-light");
  await site.postgres?.restart();
  await line.waitFor({ state: "detached" });
  expect(await topUps(page)).toHaveLength(tries);
  expect(faults).toEqual([]);
});
