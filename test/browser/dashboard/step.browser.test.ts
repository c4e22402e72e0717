import type { Page } from "playwright-core";
import { agent } from "reeve";
import type { Auth, Principal } from "reeve/server";
import { manualModel } from "reeve/testing";
import { expect, test } from "vitest";
import { analystTexts, openAnalyst } from "./analyst.ts";
import { analysts, analystSite, stepAddress, places } from "./analyst-site.ts";
import { expectAccessible, keepPicture, siteOf, visit } from "./open-page.ts";

const { second, last } = places;

/** The texts of the blocks in each part of a prompt, in order. */
const partTexts = (opened: Page): Promise<readonly (readonly [string, readonly string[]])[]> =>
  opened.evaluate(`[...document.querySelectorAll(".scroll .part")].map((part) => [
    part.getAttribute("aria-label"),
    [...part.querySelectorAll("pre")].map((text) => text.textContent),
  ])`);

/** Signs in with a key that has these scopes. */
const authOf = (scopes: Principal["scopes"]): Auth => ({
  authenticate: async (key) => (key === "the-key" ? { id: "reader", tenant: null, scopes } : null),
});

test("the inspector shows exactly the request sent to the provider", async () => {
  const { site, analyst } = await analystSite();
  const { page: opened, faults } = await visit(site, `${stepAddress(second)}?show=whole`);
  await opened.getByRole("article", { name: "tool read_accounts" }).waitFor();
  const request = analyst.requests[1];
  const shown = await partTexts(opened);
  const texts = (name: string): readonly string[] => shown.find(([each]) => each === name)?.[1] ?? [];
  expect(shown.map(([name]) => name)).toEqual([
    "System",
    "2 tools",
    "user",
    "assistant",
    "tool read_accounts",
  ]);
  expect(texts("System")).toEqual([request?.system]);
  const sent = (request?.messages ?? []).map(({ parts }) =>
    parts.flatMap((part) =>
      part.type === "text" || part.type === "reasoning" || part.type === "tool-result" ? [part.text] : [],
    ),
  );
  expect(sent).toEqual([texts("user"), texts("assistant"), texts("tool read_accounts")]);
  await opened.keyboard.press("3");
  await opened.getByText("Identical to the request").waitFor();
  const names = await opened.locator(".json .js").allInnerTexts();
  for (const { name, description } of request?.tools ?? [])
    expect(names).toEqual(expect.arrayContaining([JSON.stringify(name), JSON.stringify(description)]));
  const call = request?.messages[1]?.parts.find(({ type }) => type === "tool-call");
  expect(call).toMatchObject({ input: { book: analystTexts.task } });
  expect(names).toContain(JSON.stringify(analystTexts.task));
  expect(faults).toEqual([]);
});

test("New shows only the messages since the previous call, their senders and labels", async () => {
  const { site } = await analystSite();
  const { page: opened, faults } = await visit(site, stepAddress(second));
  await opened.getByRole("article", { name: "tool read_accounts" }).waitFor();
  expect((await partTexts(opened)).map(([name]) => name)).toEqual(["assistant", "tool read_accounts"]);
  const folds = await opened.locator(".fold-line").allInnerTexts();
  expect(folds.map((text) => text.replaceAll(/\s+/g, " ").replace(/[\d,]+ tokens/, "n tokens"))).toEqual([
    "System unchanged cached n tokens",
    "Tools unchanged cached n tokens",
    "1 message unchanged cached n tokens",
  ]);
  await opened.getByText("said by model 1").waitFor();
  await opened.getByRole("article", { name: "tool read_accounts" }).getByText("private").waitFor();
  await opened.getByRole("button", { name: /^System unchanged/ }).click();
  await opened.getByRole("article", { name: "System" }).getByText("Quote amounts exactly.").waitFor();
  expect(faults).toEqual([]);
});

test("a changed system prompt ends the cache and is compared by words; steering names its sender", async () => {
  const { site } = await analystSite();
  const { page: opened, faults } = await visit(site, stepAddress(last));
  const system = opened.getByRole("article", { name: "System" });
  await system.getByText("changed: the provider's cache ends here").waitFor();
  expect(await system.locator("del").allInnerTexts()).toEqual(["exactly"]);
  expect((await system.locator("ins").allInnerTexts()).join("")).toBe("to the cent");
  const steered = opened.getByRole("article", { name: "user" });
  await steered.getByText("steered by user").waitFor();
  await steered.getByText("U+200B").waitFor();
  await opened.getByRole("article", { name: "tool read_page" }).getByText("untrusted").waitFor();
  expect(faults).toEqual([]);
});

test("the bill is the ledger's, line by line, and the decisions are in their order", async () => {
  const { site, analyst } = await analystSite();
  const { page: opened } = await visit(site, stepAddress(second));
  const bill = opened.getByRole("region", { name: "Bill" });
  await bill.getByRole("row", { name: /^total/ }).waitFor();
  const settled: number[] = [];
  for await (const event of site.runtime.run("covenant").events())
    if (event.type === "budget.settled") settled.push(event.costMicros);
  const shown = `$${((settled[1] ?? 0) / 1_000_000).toFixed(4)}`;
  expect(await bill.getByRole("row", { name: /^total/ }).innerText()).toContain(shown);
  expect(await bill.getByText("at the price of the tree").count()).toBe(0);
  await bill.getByRole("row", { name: /^input, cached/ }).waitFor();
  expect(analyst.requests).toHaveLength(3);
  const decisions = await opened
    .getByRole("region", { name: "Decisions" })
    .locator(".ruling")
    .allInnerTexts();
  expect(decisions.map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
    "completed rate-limit: waited 0.2 s middleware",
    expect.stringMatching(/^completed budget: reserved \$.* gate$/),
    expect.stringMatching(/^completed budget: settled, \$.* gate$/),
  ]);
  // The provider's cache ends where the prompt of the last call has changed.
  expect(await opened.getByText("input, cached").count()).toBe(1);
  await opened.getByRole("link", { name: /read_page/ }).click();
  await opened.getByText("untrusted-content: warn").waitFor();
  await opened.getByRole("article", { name: "input" }).getByText(analystTexts.url).waitFor();
  await opened.getByRole("article", { name: "result" }).getByText("untrusted").waitFor();
});

test("an answer is shown as Markdown at the press of a button, without a link or an image", async () => {
  const { site } = await analystSite();
  const { page: opened, faults } = await visit(site, stepAddress(last));
  const answer = opened.getByRole("region", { name: "Answer" });
  await answer.getByText("**breached**").waitFor();
  await answer.getByRole("button", { name: "Markdown" }).press("Enter");
  await answer.locator("strong", { hasText: "breached" }).waitFor();
  expect(await answer.locator("li").count()).toBe(2);
  await answer.getByText("(https://registry.example/731)").waitFor();
  expect(await answer.locator("a").count()).toBe(0);
  expect(faults).toEqual([]);
});

test("a reader without the right to content sees money, tokens and decisions, and no text", async () => {
  const { site } = await analystSite({ auth: authOf(["read"]) });
  const { page: opened, faults } = await visit(site, stepAddress(last));
  await opened.getByLabel("API key").fill("the-key");
  await opened.keyboard.press("Enter");
  await opened.getByText("Your key lacks the scope content").waitFor();
  const bill = opened.getByRole("region", { name: "Bill" });
  await bill.getByRole("row", { name: /^total/ }).waitFor();
  await opened.getByText("rate-limit: waited 0.2 s").waitFor();
  expect(await opened.locator(".part").count()).toBeGreaterThan(2);
  expect(await opened.locator("main").innerText()).not.toMatch(/covenant was|Lakeside|Quote amounts|signed/);
  await expectAccessible(opened);
  await keepPicture(opened, "step-locked-light");
  await opened.goto(`${site.origin}/ui/runs/covenant/conversation`);
  await opened.getByText("The conversation is locked").waitFor();
  expect(faults).toEqual([]);
});

test("an erased tree is marked as erased, and keeps its cost and decisions", async () => {
  const analyst = await openAnalyst();
  analysts.push(analyst);
  const site = await siteOf([analyst.agent]);
  const start = site.runtime.start.bind(site.runtime);
  site.runtime.start = (what, input, options) => start(what, input, { ...options, retention: "run" });
  const run = await analyst.run(site, "covenant");
  const before = await visit(site, stepAddress(last));
  await before.page.getByText("steered by user").waitFor();
  await site.runtime.store.manifests.erase({ tenantId: null }, run.treeId);
  const { page: opened, faults } = await visit(site, stepAddress(last));
  await opened.getByText("[erased] The content of this step was erased").waitFor();
  expect(await opened.locator("main").innerText()).not.toMatch(/Lakeside|Quote amounts|breached/);
  await opened.getByText(/reserved \$[\d.]+, settled \$0\.\d*[1-9]/).waitFor();
  await opened.getByText(/budget: settled/).waitFor();
  await keepPicture(opened, "step-erased-light");
  await expectAccessible(opened);
  await opened.goto(`${site.origin}/ui/runs/covenant/conversation`);
  await opened.getByText("[erased] The tree's key was destroyed.").waitFor();
  expect(faults).toEqual([]);
});

test("an unrecorded step shows how to record it, and a step in flight shows its ceiling", async () => {
  const { site } = await analystSite({ options: { record: "off" } });
  const { page: opened } = await visit(site, stepAddress(last));
  await opened.getByText("[not recorded] The content of this step was not recorded").waitFor();
  const model = manualModel({ id: "slow", price: { input: 1_000_000, output: 1_000_000 } });
  const slow = agent({ name: "slow", description: "Thinks", model, maxOutputTokens: 100 });
  const other = await siteOf([slow]);
  const run = await other.runtime.start(slow, "Think", { id: "thinking", budget: { maxCostUsd: 1 } });
  const live = await visit(other, "/runs/thinking/0/model:1");
  await live.page.getByText("The call is in flight.").waitFor();
  await live.page.getByRole("row", { name: /^at most/ }).waitFor();
  model.calls[0]?.answer("Done.");
  await run.result();
  await live.page.getByRole("region", { name: "Answer" }).getByText("Done.").waitFor();
});
