import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { analystTexts, type AnalystTexts } from "./analyst.ts";
import { analystSite, stepAddress, places } from "./analyst-site.ts";
import { expectAccessible, keepPicture, visit } from "./open-page.ts";
import { sample } from "../../effort.ts";

const themes = ["light", "dark"] as const;
const { first, accounts, second, page, last } = places;

const hostile = [
  '<img src=x onerror="alert(1)">',
  "<script>alert(2)</script>",
  "![pixel](https://px.example/?d=secret)",
  "[open](javascript:alert(3)) <https://px.example/auto> https://px.example/bare",
  "{{constructor.constructor('alert(4)')()}}",
  "o.pump\u0435r@example.com",
  "left\u202Eright \u200Bhidden",
  '__proto__ {"__proto__":{"polluted":true}}',
  "<svg><a xlink:href='javascript:alert(5)'>x</a></svg>",
  "| a | b |\n|---|---|\n| <iframe src=//px.example> | ![x](//px.example) |",
  "> ".repeat(400) + "deep",
].join("\n\n");

test("text of models, tools and people is inert in every field of the inspector and the tabs", async () => {
  const texts: AnalystTexts = {
    task: hostile,
    instructions: hostile,
    changedInstructions: `${hostile}\nchanged <b>bold</b>`,
    toolDescription: hostile.slice(0, 900),
    accounts: hostile,
    page: `${hostile}${"word ".repeat(20_000)}`,
    steering: hostile,
    warning: hostile,
    note: '<img src=x onerror="alert(6)">',
    answer: hostile,
    url: hostile,
  };
  const { site } = await analystSite({ texts });
  const { page: opened, faults } = await visit(site, stepAddress(last));
  const check = async (): Promise<void> => {
    await opened.getByText("<script>alert(2)</script>").first().waitFor();
    const forbidden =
      "main :is(img, script, iframe, object, embed, svg a, b > b, a[href^='javascript'], a[href*='px.example'])";
    expect(await opened.locator(forbidden).count()).toBe(0);
  };
  await check();
  await opened.getByText("U+202E").first().waitFor();
  await opened.getByText("\u0435 is Cyrillic U+0435").first().waitFor();
  await opened.getByRole("button", { name: "Markdown" }).click();
  await opened.locator(".md-address", { hasText: "javascript:alert(3)" }).waitFor();
  await check();
  for (const key of ["2", "3"]) {
    await opened.keyboard.press(key);
    await check();
  }
  for (const place of [accounts, page, first]) {
    await opened.goto(`${site.origin}/ui${stepAddress(place)}`);
    await check();
  }
  await opened.goto(`${site.origin}/ui/runs/covenant/conversation`);
  await check();
  await opened.goto(`${site.origin}/ui/runs/covenant/events?type=guardrail`);
  await opened.getByRole("button", { name: /guardrail\.trip/ }).click();
  await check();
  for (const tab of ["steps", "ledger"]) {
    await opened.goto(`${site.origin}/ui/runs/covenant/${tab}`);
    await opened.getByRole("table").waitFor();
  }
  const wrong = await visit(site, `/runs/covenant/0/${encodeURIComponent(hostile.slice(0, 60))}`);
  await wrong.page.getByText("Nothing here that your key can see").waitFor();
  expect(await opened.evaluate("Object.prototype.polluted")).toBe(undefined);
  expect([...faults, ...wrong.faults]).toEqual([]);
});

test("the way from the list to a step and back needs no mouse", async () => {
  const { site } = await analystSite();
  const { page: opened, faults } = await visit(site, "/runs");
  const { keyboard } = opened;
  await opened.getByRole("link", { name: "covenant", exact: true }).waitFor();
  await keyboard.press("j");
  await keyboard.press("Enter");
  await opened.getByRole("treegrid").waitFor();
  await opened.getByRole("link", { name: /model 5/ }).waitFor();
  await keyboard.press("Enter");
  const title = opened.getByRole("heading", { level: 1 });
  await title.getByText("model 5").waitFor();
  await keyboard.press("k");
  await title.getByText("read_page").waitFor();
  await keyboard.press("ArrowUp");
  await title.getByText("model 3").waitFor();
  await keyboard.press("2");
  await opened.getByRole("article", { name: "System" }).waitFor();
  expect(new URL(opened.url()).search).toBe("?show=whole");
  await keyboard.press("j");
  await title.getByText("read_page").waitFor();
  await keyboard.press("ArrowUp");
  await keyboard.press("1");
  await opened.locator(".fold-line").first().waitFor();
  await keyboard.press("e");
  await opened.getByRole("article", { name: "System" }).waitFor();
  await keyboard.press("Backspace");
  await opened.getByRole("treegrid").waitFor();
  expect(new URL(opened.url()).search).toBe("?at=~0");
  await opened.getByRole("link", { name: "Steps" }).focus();
  await keyboard.press("Enter");
  await opened.getByRole("table").waitFor();
  await opened.getByRole("button", { name: "Most costly first" }).focus();
  await keyboard.press("Enter");
  await opened.getByRole("main").focus();
  await keyboard.press("j");
  await keyboard.press("Enter");
  await title.getByText("model 1").waitFor();
  expect(faults).toEqual([]);
});

test("the tabs of a run show its steps, its conversation, its ledger and its events", async () => {
  const { site } = await analystSite();
  const { page: opened, faults } = await visit(site, "/runs/covenant/steps?kind=model&sort=cost");
  await opened.getByRole("table").waitFor();
  const names = (await opened.locator("tbody th").allInnerTexts()).map((text) => text.replace(/^\S+\s+/, ""));
  const costs = (await opened.locator("tbody td:last-child").allInnerTexts()).map((text) =>
    Number(text.slice(1)),
  );
  expect(names.toSorted()).toEqual(["model 1", "model 3", "model 5"]);
  expect(costs).toEqual(costs.toSorted((one, other) => other - one));
  await opened.getByRole("button", { name: "Tools" }).click();
  await opened.getByRole("link", { name: /read_accounts/ }).waitFor();
  expect(await opened.locator("tbody tr").count()).toBe(2);
  await opened.getByRole("link", { name: "Conversation" }).click();
  const said = opened.locator(".said");
  await said.getByText(analystTexts.task).waitFor();
  expect(await said.count()).toBe(7);
  await said.getByText("→ read_page").waitFor();
  await opened.getByRole("link", { name: "Ledger" }).click();
  await opened.getByText("settled").first().waitFor();
  const { costMicros } = await site.runtime.run("covenant").result();
  const booked = await opened.locator("tbody tr:last-child td:last-child").innerText();
  expect(booked).toBe(`$${(costMicros / 1_000_000).toFixed(4)}`);
  expect(await opened.locator("tbody tr").count()).toBe(6);
  await opened.getByRole("link", { name: "Events" }).click();
  await opened.getByRole("combobox", { name: "Type" }).selectOption("budget");
  await expect.poll(() => opened.locator(".event-line").count()).toBe(6);
  await opened.locator(".event-line").first().click();
  await opened.locator(".event-json").getByText('"budget.reserved"').waitFor();
  expect(faults).toEqual([]);
});

test("no part of a prompt is cut, however many there are: the list scrolls", async () => {
  const { site } = await analystSite();
  const { page: opened } = await visit(site, `${stepAddress(last)}?show=whole`);
  await opened.getByText("steered by").waitFor();
  const cut = await opened.evaluate<readonly string[]>(`[...document.querySelectorAll(".part")]
    .filter((part) => part.scrollHeight > part.clientHeight)
    .map((part) => part.innerText)`);
  expect(cut).toEqual([]);
});

const screens: readonly (readonly [name: string, path: string, ready: (opened: Page) => Promise<unknown>])[] =
  [
    ["step-new", stepAddress(second), (opened) => opened.getByText("said by model 1").waitFor()],
    ["step-changed", stepAddress(last), (opened) => opened.locator("ins").first().waitFor()],
    ["step-whole", `${stepAddress(last)}?show=whole`, (opened) => opened.getByText("steered by").waitFor()],
    [
      "step-sent",
      `${stepAddress(last)}?show=sent`,
      (opened) => opened.getByText("Identical to the request").waitFor(),
    ],
    ["step-tool", stepAddress(page), (opened) => opened.getByText("untrusted-content: warn").waitFor()],
    ["run-tree", "/runs/covenant", (opened) => opened.getByRole("link", { name: /model 5/ }).waitFor()],
    ["run-steps", "/runs/covenant/steps", (opened) => opened.getByRole("table").waitFor()],
    [
      "run-conversation",
      "/runs/covenant/conversation",
      (opened) => opened.locator(".said").first().waitFor(),
    ],
    ["run-ledger", "/runs/covenant/ledger", (opened) => opened.getByRole("table").waitFor()],
    ["run-events", "/runs/covenant/events", (opened) => opened.locator(".event-line").first().click()],
  ];

test.each(themes)("the inspector and the tabs are accessible and within the policy, in %s", async (theme) => {
  const { site } = await analystSite();
  for (const [name, path, ready] of sample(screens, 0.25, ([screen]) => `${screen} ${theme}`)) {
    const { page: opened, faults } = await visit(site, path, { theme });
    await ready(opened);
    await expectAccessible(opened);
    await keepPicture(opened, `${name}-${theme}`);
    expect({ name, faults }).toEqual({ name, faults: [] });
  }
  const narrow = await visit(site, stepAddress(last), { theme, width: 1024 });
  await narrow.page.locator("ins").first().waitFor();
  expect(await narrow.page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(
    1024,
  );
});
