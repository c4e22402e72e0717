import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { DashboardSite } from "./dashboard-site.ts";
import { expectAccessible, keepPicture, siteOf, visit } from "./open-page.ts";
import { askingAgent, reportTeam } from "./report-team.ts";
import { sample } from "../../effort.ts";

const themes = ["light", "dark"] as const;

/** A tree that waits for approval, one that asks a question, and one that has ended. */
async function busySite(): Promise<DashboardSite> {
  const team = reportTeam();
  const planner = askingAgent();
  const site = await siteOf([...team.agents, planner]);
  const [, researcher] = team.agents;
  if (!researcher) throw new Error("the team has a researcher");
  const options = { budget: { maxCostUsd: 1 }, spawn: { maxAgents: 20 } };
  await (await site.runtime.start(researcher, "Find the revenue", { id: "revenue", ...options })).result();
  await site.runtime.start(planner, "Plan it", { id: "planning" });
  await site.runtime.start(team.lead, "Prepare the report", { id: "report", ...options });
  const waiting = async (): Promise<number> =>
    (await site.runtime.approvals.list({ state: "pending" })).items.length;
  await expect.poll(waiting).toBe(2);
  await expect.poll(() => team.reviewing.calls.length).toBe(1);
  return site;
}

const screens: readonly (readonly [name: string, path: string, ready: (page: Page) => Promise<unknown>])[] = [
  ["runs", "/runs", (page) => page.getByRole("link", { name: "report", exact: true }).waitFor()],
  ["runs-no-match", "/runs?agent=none", (page) => page.getByText("No run matches the filter").waitFor()],
  [
    "runs-asks",
    "/runs?show=asks",
    (page) => page.getByRole("link", { name: "planning", exact: true }).waitFor(),
  ],
  ["run", "/runs/report?at=~1", (page) => page.getByText("researcher ×7").waitFor()],
  ["run-ended", "/runs/revenue", (page) => page.getByText("completed").first().waitFor()],
  ["run-missing", "/runs/nothing", (page) => page.getByText("Nothing here that your key can see").waitFor()],
  ["approvals", "/approvals", (page) => page.getByRole("heading", { name: /planner|writer/ }).waitFor()],
  ["approvals-decided", "/approvals?state=decided", (page) => page.getByText("No decisions yet").waitFor()],
  ["playground", "/play/lead", (page) => page.getByRole("textbox", { name: "Task" }).waitFor()],
];

test.each(themes)("each screen is accessible and within the policy, in %s", async (theme) => {
  const site = await busySite();
  for (const [name, path, ready] of sample(screens, 0.25, ([screen]) => `${screen} ${theme}`)) {
    const { page, faults } = await visit(site, path, { theme });
    await ready(page);
    await expectAccessible(page);
    await keepPicture(page, `${name}-${theme}`);
    // Only parts of a screen scroll, never the whole page.
    const scrolls = await page.evaluate<boolean>("document.documentElement.scrollHeight > innerHeight");
    expect({ name, faults, scrolls }).toEqual({ name, faults: [], scrolls: false });
  }
});

test("the list shows caps and agents, and filters on the server", async () => {
  const site = await busySite();
  const { page } = await visit(site, "/runs");
  const row = page.getByRole("row", { name: /report/ });
  await row.getByText("$1.00").waitFor();
  await row.getByText("/ 10").waitFor();
  await page.getByRole("button", { name: "Needs you" }).click();
  await page.getByRole("link", { name: "revenue" }).waitFor({ state: "detached" });
  expect(await page.locator("a[data-run]").allInnerTexts()).toEqual(["report", "planning"]);
  await page.getByRole("button", { name: "Stopped early" }).click();
  await page.getByText("No run matches the filter").waitFor();
});

test.each(themes)("empty screens show the next step, in %s", async (theme) => {
  const site = await siteOf(reportTeam().agents);
  const runs = await visit(site, "/runs", { theme });
  await runs.page.getByRole("heading", { name: "Nothing has run yet" }).waitFor();
  await expectAccessible(runs.page);
  await keepPicture(runs.page, `runs-empty-${theme}`);
  const approvals = await visit(site, "/approvals", { theme });
  await approvals.page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  await expectAccessible(approvals.page);
  expect([...runs.faults, ...approvals.faults]).toEqual([]);
});

test.each([1440, 1024, 390])(
  "no column of a run is cut off at %i px: the agents scroll sideways",
  async (width) => {
    const site = await busySite();
    const { page } = await visit(site, "/runs/report", { width });
    await page.getByText("researcher ×7").waitFor();
    const cut = await page.evaluate<readonly string[]>(`[...document.querySelectorAll(".row")]
    .filter((row) => row.scrollWidth > row.clientWidth)
    .map((row) => row.innerText)`);
    expect(cut).toEqual([]);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    await keepPicture(page, `run-${width}`);
  },
);

test("an approval is decided on a phone", async () => {
  const site = await busySite();
  const { page, faults } = await visit(site, "/approvals", { width: 390 });
  await page.getByRole("link", { name: /send_email/ }).click();
  const approve = page.getByRole("button", { name: "Approve once" });
  await approve.waitFor();
  await expectAccessible(page);
  await keepPicture(page, "approvals-phone");
  expect((await approve.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  expect(faults).toEqual([]);
});
