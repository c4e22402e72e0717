import { agent, type Agent } from "reeve";
import type { Auth, Principal } from "reeve/server";
import { type ManualModel, manualModel, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { Spend, TreeId, UserId } from "#kernel";
import type { DashboardSite } from "./dashboard-site.ts";
import { expectAccessible, keepPicture, siteOf, visit } from "./open-page.ts";

const price = { input: 1_313_000, output: 2_717_000 };
const hostile = '<img src=x onerror="alert(1)"> \u202Egnp';
const tenant = "acme";

const createAgent = (name: string, model: string): Agent =>
  agent({
    name,
    description: "Says a word",
    model: { ...scriptedModel([say("A word.")], { price }), id: model },
  });

const principal = (id: string, scopes: Principal["scopes"]): Principal => ({ id, tenant, scopes });

/** Signs every reader in: the key is the scope. */
const keys: Auth = {
  authenticate: async (key) =>
    key === "admin" || key === "read" || key === "approve" ? principal(key, [key]) : null,
};

interface Money {
  readonly site: DashboardSite;
  readonly lost: ManualModel;
  /** The settled money of the ledgers, by agent. */
  readonly settled: ReadonlyMap<string, number>;
  readonly inDoubtMicros: number;
}

/** A tenant with a limit, trees of three agents, one that its budget stopped, and a call in doubt. */
async function moneySite(): Promise<Money> {
  const lead = createAgent("lead", "careful-model");
  const writer = createAgent("writer", hostile);
  const poor = agent({
    name: "poor",
    description: "Has no money",
    model: scriptedModel([say("no")], { price }),
  });
  const lost = manualModel({ id: "silent-model", price });
  const scout = agent({ name: "scout", description: "Is lost", model: lost, maxOutputTokens: 500 });
  const site = await siteOf([lead, writer, poor, scout], keys);
  const { runtime } = site;
  await runtime.tenants.setBudget({ tenant }, { maxCostUsd: 0.01, per: "day" });
  const settled = new Map<string, number>();
  for (const [name, each, id] of [
    ["lead", lead, "report"],
    ["lead", lead, "summary"],
    ["writer", writer, "letter"],
  ] as const) {
    const run = await runtime.start(each, "Write", { id, tenant, user: "ann" });
    for await (const _ of run.events()) continue;
    settled.set(name, (settled.get(name) ?? 0) + (await run.ledger()).tree.settled.costMicros);
  }
  const refused = await runtime.start(poor, "Write", {
    id: "refused",
    tenant,
    budget: { maxCostUsd: 0.000001 },
  });
  for await (const _ of refused.events()) continue;
  const doubtful = await runtime.start(scout, "Look", { id: "doubtful", tenant });
  await expect.poll(() => lost.calls.length).toBe(1);
  await doubtful.cancel();
  for await (const _ of doubtful.events()) continue;
  const inDoubtMicros = (await doubtful.ledger()).tree.inDoubt.costMicros;
  return { site, lost, settled, inDoubtMicros };
}

/** Opens a screen with a key. */
async function openSignedIn(
  site: DashboardSite,
  path: string,
  { key = "admin", theme = "light" }: { readonly key?: string; readonly theme?: "light" | "dark" } = {},
): ReturnType<typeof visit> {
  const opened = await visit(site, path, { theme });
  const field = opened.page.getByLabel("API key");
  await field.fill(key);
  await field.press("Enter");
  return opened;
}

const exact = (micros: number): string => {
  const digits = (micros / 1_000_000).toFixed(6);
  return `$${digits.slice(0, -4)}${digits.slice(-4).replace(/0+$/, "")}`;
};

test.each(["light", "dark"] as const)("the spend screen is accessible and exact, in %s", async (theme) => {
  const { site, settled, inDoubtMicros } = await moneySite();
  const { page, faults } = await openSignedIn(site, "/spend", { theme });
  const table = page.getByRole("region", { name: "By agent" });
  for (const [agentName, micros] of settled) {
    const row = table.getByRole("row", { name: new RegExp(`^${agentName}`) });
    await row.getByText(exact(micros), { exact: true }).first().waitFor();
  }
  const [lead = 0, writer = 0] = [settled.get("lead"), settled.get("writer")];
  const cells = await table.getByRole("row", { name: /^lead/ }).getByRole("cell").allInnerTexts();
  expect(cells).toEqual(["lead", "careful-model", exact(lead), "", "2", exact(Math.round(lead / 2)), "–"]);
  const poor = await table.getByRole("row", { name: /^poor/ }).getByRole("cell").allInnerTexts();
  expect(poor.at(-1)).toBe("1");
  await page.getByRole("heading", { name: `${exact(lead + writer + inDoubtMicros)} in 14 days` }).waitFor();
  await page.getByText("limit $0.01 a day").waitFor();
  await page
    .getByRole("region", { name: "Stopped by a budget" })
    .getByRole("link", { name: "refused" })
    .waitFor();
  await page.getByRole("region", { name: "In doubt" }).getByText("silent-model of scout").waitFor();
  await expectAccessible(page);
  await keepPicture(page, `spend-${theme}`);
  // Today's bar, which is the last one.
  await page.getByRole("group", { name: "Runs behind a bar" }).getByRole("button").last().click();
  const behind = page.getByRole("region", { name: /^Runs behind/ });
  await behind.getByRole("link", { name: "letter" }).waitFor();
  await expectAccessible(page);
  await keepPicture(page, `spend-behind-${theme}`);
  expect(faults).toEqual([]);
});

test("names of agents and models are inert, and no cell of the file is a formula", async () => {
  const { site } = await moneySite();
  const { page, faults } = await openSignedIn(site, "/spend");
  const table = page.getByRole("region", { name: "By agent" });
  await table.getByText('<img src=x onerror="alert(1)">').waitFor();
  expect(await table.getByText("U+202E").count()).toBe(1);
  expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const file = await downloading;
  expect(file.suggestedFilename()).toBe("spend.csv");
  expect(faults).toEqual([]);
});

test("a call in doubt is settled by keyboard, with the tokens and their cost", async () => {
  const { site } = await moneySite();
  const { page, faults } = await openSignedIn(site, "/runs");
  const { keyboard } = page;
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  const settle = page.getByRole("button", { name: "Settle" });
  await keyboard.press("g");
  await keyboard.press("s");
  await settle.waitFor();
  // By agent, by model, the period before, and back.
  await keyboard.press("1");
  await page.getByRole("button", { name: "Agent", exact: true, pressed: true }).waitFor();
  await keyboard.press("[");
  await page.getByRole("heading", { name: /^Nothing was spent/ }).waitFor();
  await keyboard.press("]");
  const bar = page.getByRole("group", { name: "Runs behind a bar" }).getByRole("button").last();
  await bar.focus();
  await keyboard.press("Enter");
  await page.getByRole("region", { name: /^Runs behind/ }).waitFor();
  await settle.focus();
  await keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Settle a call in doubt" });
  await dialog.getByLabel("Input tokens").first().focus();
  await keyboard.type("1000");
  await keyboard.press("Tab");
  await keyboard.press("Tab");
  await keyboard.type("7");
  // 1,000 at 1.313 and 7 at 2.717 micro-dollars, rounded up once.
  await dialog.getByText("It comes to $0.001333.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "spend-settle-light");
  await keyboard.press("Enter");
  await page.getByText(/^Settled: \$0\.001333 booked/).waitFor();
  await settle.waitFor({ state: "detached" });
  const run = site.runtime.run("doubtful", { tenant });
  expect((await run.ledger()).tree).toMatchObject({
    settled: { costMicros: 1_333 },
    inDoubt: { costMicros: 0 },
  });
  expect(faults).toEqual([]);
});

test("a read-only key sees a locked Settle, and a key without read access sees an error", async () => {
  const { site } = await moneySite();
  const { page } = await openSignedIn(site, "/spend", { key: "read" });
  const settle = page.getByRole("button", { name: "Settle" });
  await settle.waitFor();
  expect(await settle.getAttribute("aria-disabled")).toBe("true");
  const refused = await openSignedIn(site, "/spend", { key: "approve" });
  await refused.page.getByRole("alert").getByText("Your key may not do this").waitFor();
  await expectAccessible(refused.page);
  await keepPicture(refused.page, "spend-refused-light");
});

test.each(["light", "dark"] as const)("an empty and a loading spend screen say so, in %s", async (theme) => {
  const site = await siteOf([createAgent("lead", "careful-model")]);
  const { page, faults } = await visit(site, "/spend", { theme });
  await page.getByRole("heading", { name: "Nothing was spent in 14 days" }).waitFor();
  await page.getByText("No limit is set for all trees together.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, `spend-empty-${theme}`);
  const { page: slow } = await visit(site, "/runs", { theme });
  await slow.route("**/spend?*", () => undefined);
  await slow.getByRole("link", { name: "Spend" }).click();
  await slow.getByText("Spend: loading").waitFor({ state: "attached" });
  await expectAccessible(slow);
  expect(faults).toEqual([]);
});

test.each([
  { users: 24, legend: ["user24", "user23", "user22", "user21", "all others"] },
  { users: 7, legend: ["user07", "user06", "user05", "user04", "3 others"] },
  { users: 4, legend: ["user04", "user03", "user02", "user01"] },
])("$users users: the chart names four, and its bar shows the money of all", async ({ users, legend }) => {
  const site = await siteOf([createAgent("lead", "careful-model")]);
  const hour = Spend.hourOf(Date.now());
  for (let user = 1; user <= users; user += 1)
    await site.runtime.store.spend.put({ tenantId: null }, TreeId.of(`t${user}`), {
      userId: UserId.of(`user${String(user).padStart(2, "0")}`),
      seq: 1,
      rolledSeq: 0,
      rows: [{ ...Spend.none, hour, agentType: "lead", model: "m", calls: 1, settledMicros: 10_000 * user }],
      calls: [],
    });
  const { page, faults } = await visit(site, "/spend?by=user");
  await expect.poll(() => page.locator(".legend li").allInnerTexts()).toEqual(legend);
  const total = exact((10_000 * users * (users + 1)) / 2);
  await page.getByRole("heading", { name: `${total} in 14 days` }).waitFor();
  const bars = page.getByRole("group", { name: "Runs behind a bar" });
  await bars.getByRole("button", { name: total }).waitFor();
  await expectAccessible(page);
  expect(faults).toEqual([]);
});

test("the strip over the runs shows agents at work, the hour, and the limit of the tenant", async () => {
  const { site, settled, inDoubtMicros } = await moneySite();
  const { page } = await openSignedIn(site, "/runs");
  const strip = page.getByRole("region", { name: "Now" });
  const total = [...settled.values()].reduce((sum, each) => sum + each, inDoubtMicros);
  await strip.getByText(`$${(total / 1_000_000).toFixed(4)} today, UTC`).waitFor();
  await strip.getByText("Today, of the tenant's limit").waitFor();
  await strip.getByText("of $0.01").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "runs-strip-light");
});
