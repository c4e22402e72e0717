import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { DashboardSite } from "./dashboard-site.ts";
import { type LargeTeam, largeTeam } from "./large-team.ts";
import { takeTap, tapScript } from "./live-tap.ts";
import { openContext, siteOf, visit } from "./open-page.ts";

const size = 8;

async function startTeam(id: string): Promise<{ readonly site: DashboardSite; readonly team: LargeTeam }> {
  const team = largeTeam(size);
  const site = await siteOf(team.agents);
  await site.runtime.start(team.lead, "Prepare the report", { id, budget: { maxCostUsd: 5 } });
  // That of the lead, and one of each researcher.
  await waitForCalls(site, id, 1 + size);
  return { site, team };
}

const footerText = (page: Page): Promise<string | null> => page.locator(".keys .right").textContent();

/** Answers calls, and waits until the next ones wait. Returns the number of the tree's last event. */
async function advance(site: DashboardSite, team: LargeTeam, id: string): Promise<string> {
  const { begun } = await readEvents(site, id);
  await expect.poll(() => team.waiting).toBe(size);
  team.answer(size);
  const last = await waitForCalls(site, id, begun + size);
  return `event ${last.toLocaleString("en-US")} `;
}

/** Waits until the store has so many begun calls. The last one is the tree's last event while all of them wait. */
async function waitForCalls(site: DashboardSite, id: string, calls: number): Promise<number> {
  await expect.poll(async () => (await readEvents(site, id)).begun).toBe(calls);
  return (await readEvents(site, id)).last;
}

async function readEvents(
  site: DashboardSite,
  id: string,
): Promise<{ readonly begun: number; readonly last: number }> {
  const { treeId } = site.runtime.run(id);
  const range = { after: 0, limit: 10_000 };
  const events = await site.runtime.store.events.read({ tenantId: null }, treeId, range);
  return { begun: events.filter(({ type }) => type === "model.start").length, last: events.length };
}

async function shows(page: Page, foot: string): Promise<void> {
  await expect
    .poll(() => footerText(page))
    .toSatisfy((text: string | null) => text?.startsWith(foot) ?? false);
}

test("eight tabs share one stream: all of them show every event, and requests still get through", async () => {
  const { site, team } = await startTeam("eight");
  const context = await openContext();
  const tabs = [];
  for (let tab = 0; tab < 8; tab += 1) tabs.push(await visit(site, "/runs/eight", { context }));
  for (const { page } of tabs) await page.getByRole("treegrid").waitFor();
  const foot = await advance(site, team, "eight");
  for (const { page } of tabs) await shows(page, foot);
  expect(site.wire.requests.filter((line) => line.startsWith("GET /live "))).toHaveLength(1);
  const last = tabs[7];
  if (!last) throw new Error("there are eight");
  await last.page.bringToFront();
  await last.page.keyboard.press("p");
  await last.page.getByText("lead: pausing (stops before its next step)").waitFor();
  expect(tabs.flatMap(({ faults }) => faults)).toEqual([]);
  team.finish();
});

test("without a SharedWorker one tab has the stream for all, and when it is closed another takes over", async () => {
  const { site, team } = await startTeam("locks");
  const context = await openContext();
  const script = "delete window.SharedWorker;";
  const first = await visit(site, "/runs/locks", { context, script });
  await first.page.getByRole("treegrid").waitFor();
  const second = await visit(site, "/runs/locks", { context, script });
  await second.page.getByRole("treegrid").waitFor();
  await shows(second.page, await advance(site, team, "locks"));
  const streams = (): number => site.wire.requests.filter((line) => line.startsWith("GET /live ")).length;
  expect(streams()).toBe(1);
  await first.page.close();
  await expect.poll(streams).toBe(2);
  await shows(second.page, await advance(site, team, "locks"));
  expect([...first.faults, ...second.faults]).toEqual([]);
  team.finish();
});

test("a hidden tab receives no events, and shows all of them when it becomes visible", async () => {
  const { site, team } = await startTeam("hidden");
  const { page } = await visit(site, "/runs/hidden", { script: tapScript });
  await page.getByRole("treegrid").waitFor();
  const setVisible = (state: string): Promise<void> =>
    page.evaluate(
      `Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${state}" });
       document.dispatchEvent(new Event("visibilitychange"));
       window.tap.received.length = 0;`,
    );
  await setVisible("hidden");
  // The one message that was asked for before.
  await advance(site, team, "hidden");
  await expect.poll(() => page.evaluate<number>("window.tap.received.length")).toBe(1);
  await takeTap(page);
  let foot = "";
  for (let round = 0; round < 3; round += 1) foot = await advance(site, team, "hidden");
  expect((await takeTap(page)).messages).toEqual([]);
  await setVisible("visible");
  await shows(page, foot);
  expect((await takeTap(page)).messages.length).toBeLessThanOrEqual(2);
  team.finish();
});

test("H freezes the tree and counts new events, U shows them, and the number of approvals keeps updating", async () => {
  const { site, team } = await startTeam("held");
  const { page } = await visit(site, "/runs/held");
  await page.getByRole("treegrid").waitFor();
  await shows(page, await advance(site, team, "held"));
  await page.keyboard.press("h");
  await expect.poll(() => footerText(page)).toMatch(/^held at event \d+ · 0 new/);
  const held = /held (at event [\d,]+)/.exec((await footerText(page)) ?? "")?.[1] ?? "";
  const foot = await advance(site, team, "held");
  await expect.poll(() => footerText(page)).toMatch(/ · [1-9]\d* new, U shows them$/);
  expect(await footerText(page)).toContain(held);
  await page.keyboard.press("u");
  await shows(page, `held at ${foot}`);
  await page.keyboard.press("h");
  await shows(page, foot);
  team.finish();
});

test("lists change by the stream: a tree appears, and its end is shown, without another request", async () => {
  const team = largeTeam(2);
  const site = await siteOf(team.agents);
  const { page } = await visit(site, "/runs");
  await page.getByRole("heading", { name: "Nothing has run yet" }).waitFor();
  const lists = (): readonly string[] => site.wire.requests.filter((line) => line.startsWith("GET /runs?"));
  // Each is read again once the stream is open, because no tab received earlier changes.
  await expect.poll(() => lists().length).toBe(2 * new Set(lists()).size);
  const read = lists().length;
  await site.runtime.start(team.lead, "Prepare the report", { id: "listed", name: "The report" });
  const row = page.getByRole("row", { name: /The report/ });
  await row.waitFor();
  team.finish();
  await row.getByText("completed").waitFor();
  expect(lists()).toHaveLength(read);
});
