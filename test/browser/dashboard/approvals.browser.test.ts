import { expect, test } from "vitest";
import type { DashboardSite } from "./dashboard-site.ts";
import { mailingTeam } from "./mailing-team.ts";
import { expectAccessible, keepPicture, pressIfShown, siteOf, visit } from "./open-page.ts";
import { recordsSite } from "./records-site.ts";
import { reportTeam } from "./report-team.ts";

const listPending = async (site: DashboardSite): Promise<readonly string[]> =>
  (await site.runtime.approvals.list({ state: "pending" })).items.map(({ id }) => id);

const countDecided = async (site: DashboardSite): Promise<number> =>
  (await site.runtime.approvals.list({ state: "decided" })).items.length;

/** A site with one open question about a mail. */
async function askingSite(body: string): Promise<DashboardSite> {
  const { agents, lead } = reportTeam(body);
  const site = await siteOf(agents);
  await site.runtime.start(lead, "Prepare it", {
    id: "report",
    name: "The report",
    budget: { maxCostUsd: 1 },
  });
  await expect.poll(async () => (await listPending(site)).length).toBe(1);
  return site;
}

const lines = (count: number): string => Array.from({ length: count }, (_, n) => `line ${n + 1}`).join("\n");

test.each([1440, 390])(
  "folded lines are counted on the button until they are shown, at %i px",
  async (width) => {
    const site = await askingSite(lines(45));
    const { page, faults } = await visit(site, "/approvals", { width });
    const approve = page.getByRole("button", { name: /^Approve, 31 lines not seen/ });
    await approve.waitFor();
    expect(await page.getByText("line 45").count()).toBe(0);
    const isWhole = (): Promise<boolean> =>
      page.evaluate<boolean>(
        "(() => { const e = document.querySelector('.args'); return e.scrollHeight <= e.clientHeight + 1; })()",
      );
    expect(await isWhole()).toBe(true);
    await expectAccessible(page);
    await keepPicture(page, `approvals-folded-${width}`);
    await page.getByRole("button", { name: "Show 31 more lines" }).press("Enter");
    await page.getByRole("button", { name: /^Approve once/ }).waitFor();
    await page.getByText("line 45").waitFor();
    expect(await isWhole()).toBe(true);
    expect(faults).toEqual([]);
  },
);

test("on a phone every target is 44 px high, and nothing is wider than the screen", async () => {
  const { site } = await recordsSite(lines(30));
  const { page } = await visit(site, "/approvals", { width: 390 });
  await page.getByRole("button", { name: /^Approve, 16 lines not seen/ }).waitFor();
  await page.getByText("Filter", { exact: true }).click();
  const small = await page.evaluate<readonly string[]>(`[...document.querySelectorAll(
    "main button, main input, main select, main summary, main a:not(.link), nav a")]
    .filter((each) => each.getBoundingClientRect().height < 44)
    .map((each) => each.outerHTML.slice(0, 80))`);
  expect(small).toEqual([]);
  expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
});

test("a late decision shows the earlier decision and its author", async () => {
  const site = await askingSite("The report is attached.");
  const { page, faults } = await visit(site, "/approvals");
  await page.getByRole("button", { name: /^Approve once/ }).waitFor();
  // The page polls: it must show a state older than the decision.
  await page.route("**/approvals?*", () => undefined);
  const [id = ""] = await listPending(site);
  await site.runtime.approvals.decide(id, { decision: "denied", by: "dana" });
  await expect
    .poll(async () => {
      await page.keyboard.press("a");
      return page.locator(".overtaken").count();
    })
    .toBe(1);
  const text = await page.locator(".overtaken").innerText();
  expect(text).toMatch(/Too late: send_email of writer was denied by dana at \d/);
  await page.unroute("**/approvals?*");
  await expectAccessible(page);
  await keepPicture(page, "approvals-too-late-light");
  expect(faults).toEqual([]);
});

test("an approval is remembered only after a second question, and the decided list says so", async () => {
  const site = await askingSite("The report is attached.");
  const { page, faults } = await visit(site, "/approvals");
  await page.getByRole("button", { name: /^Approve this tool/ }).waitFor();
  await page.keyboard.press("A");
  const dialog = page.getByRole("dialog", { name: "Approve every further send_email?" });
  await dialog.waitFor();
  await expectAccessible(page);
  await keepPicture(page, "approvals-remember-light");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await countDecided(site)).toBe(0);
  await expect
    .poll(async () => {
      await page.keyboard.press("A");
      const all = dialog.getByRole("button", { name: "Approve all of them" });
      await pressIfShown(all);
      return countDecided(site);
    })
    .toBe(1);
  const decided = await visit(site, "/approvals?state=decided");
  await decided.page.getByText(/^Remembered: every further call of/).waitFor();
  await decided.page.getByRole("link", { name: /remembered/ }).waitFor();
  expect(faults).toEqual([]);
});

test("questions are filtered on the server, and the filter is in the address", async () => {
  const { site } = await recordsSite();
  const { page } = await visit(site, "/approvals?state=decided");
  await page
    .getByText(/^approved by dana/)
    .first()
    .waitFor();
  expect(await page.locator(".it").count()).toBe(2);
  await page.getByText("Filter", { exact: true }).press("Enter");
  await page.getByLabel("Risk").selectOption("critical");
  await page.getByText("No question matches the filter").waitFor();
  expect(page.url()).toContain("risk=critical");
  await page.getByLabel("Risk").selectOption("high");
  await expect.poll(() => page.locator(".it").count()).toBe(2);
  await page.getByLabel("Tool").fill("none");
  await page.keyboard.press("Enter");
  await page.getByText("No question matches the filter").waitFor();
});

test("every parent above an asking agent is marked, whether or not it is folded", async () => {
  const { agents, lead } = mailingTeam("The report is attached.");
  const site = await siteOf(agents);
  await site.runtime.start(lead, "Send it", { id: "report", budget: { maxCostUsd: 1 } });
  await expect.poll(async () => (await listPending(site)).length).toBe(1);
  const { page } = await visit(site, "/runs/report");
  const parent = page.getByRole("row", { name: /^lead/ });
  await parent.getByText("▲ 1").waitFor();
  const child = page.getByRole("row", { name: /^writer/ });
  await child.waitFor();
  expect(await child.getByText("▲ 1").count()).toBe(0);
  await page.keyboard.press("ArrowLeft");
  await child.waitFor({ state: "detached" });
  await parent.getByText("▲ 1").waitFor();
});

test("one polite region announces requests and ends, and nothing of the stream", async () => {
  const { agents, lead, reviewing, sent } = reportTeam();
  const site = await siteOf(agents);
  const { page } = await visit(site, "/runs");
  await page.getByRole("heading", { name: "Nothing has run yet" }).waitFor();
  expect(await page.locator('[role="status"], [aria-live]').count()).toBe(1);
  const region = page.locator("[data-announcer]");
  await site.runtime.start(lead, "Prepare it", { id: "report", budget: { maxCostUsd: 1 } });
  await expect.poll(() => region.innerText()).toBe("writer: waiting for approval of send_email");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run a command" }).fill("report");
  await page.keyboard.press("Enter");
  await page.getByRole("treegrid").waitFor();
  expect(await page.locator('[role="status"], [aria-live]').count()).toBe(1);
  const [id = ""] = await listPending(site);
  await site.runtime.approvals.decide(id, { decision: "approved", by: "dana" });
  await expect.poll(() => reviewing.calls.length).toBe(1);
  reviewing.calls[0]?.answer("Good.");
  await expect.poll(() => region.innerText()).toBe("report: completed");
  expect(sent).toEqual(["team@example.com"]);
});

test("Enter that comes before the places are loaded opens the place once they are", async () => {
  const { agents, lead } = reportTeam();
  const site = await siteOf(agents);
  await site.runtime.start(lead, "Prepare it", { id: "report" });
  const { page } = await visit(site, "/audit");
  await page.getByRole("heading", { name: "Audit" }).waitFor();
  const { promise: loaded, resolve: load } = Promise.withResolvers<void>();
  await page.route("**/runs?roots=true&size=100", async (route) => {
    await loaded;
    await route.continue();
  });
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run a command" }).fill("report");
  await page.keyboard.press("Enter");
  load();
  await page.getByRole("treegrid").waitFor();
  expect(page.url()).toBe(`${site.origin}/ui/runs/report`);
});

test("a pair of keys never acts as a single one, and single keys can be switched off", async () => {
  const site = await askingSite("The report is attached.");
  const { page } = await visit(site, "/approvals");
  await page.getByRole("button", { name: /^Approve once/ }).waitFor();
  // Longer than the time in which a question cannot be decided.
  await expect.poll(() => page.evaluate<number>("performance.now()")).toBeGreaterThan(3000);
  // Stops the clock of the page: on a slow machine the second key of a pair would come too late.
  await page.clock.setFixedTime(Date.now());
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.getByRole("link", { name: "writer" }).waitFor();
  expect(await countDecided(site)).toBe(0);
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await expectAccessible(page);
  await dialog.getByRole("checkbox").press("Space");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  for (const key of ["g", "r", "?", "g", "u"]) await page.keyboard.press(key);
  expect(page.url()).toMatch(/\/agents$/);
  expect(await dialog.count()).toBe(0);
  await page.getByRole("button", { name: /^Keys/ }).click();
  await dialog.waitFor();
});

test("the bar goes to every screen, and a place is copied as a link and as a command", async () => {
  const { site } = await recordsSite();
  const { page, faults } = await visit(site, "/runs/third");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("treegrid").waitFor();
  const copied = (): Promise<string> => page.evaluate<string>("navigator.clipboard.readText()");
  await page.keyboard.press("Alt+c");
  await expect.poll(copied).toBe("reeve why third");
  await page.keyboard.press("Control+Shift+c");
  await expect.poll(copied).toBe(page.url());
  for (const [words, end] of [
    ["sessions", "/sessions"],
    ["audit", "/audit"],
    ["agents each", "/agents"],
    ["decided", "/approvals?state=decided"],
    ["writer", "/agents/writer"],
    ["report third", "/runs/third"],
  ] as const) {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search or run a command" }).fill(words);
    // The screen behind has options of its own.
    await expect.poll(() => page.getByRole("dialog").getByRole("option").count()).toBe(1);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toBe(`${site.origin}/ui${end}`);
  }
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run a command" }).fill("copy as");
  await page.keyboard.press("Enter");
  await expect.poll(copied).toBe("reeve why third");
  await expectAccessible(page);
  expect(faults).toEqual([]);
});
