import { afterEach, expect, test } from "vitest";
import { keepPicture, visit } from "./open-page.ts";
import { RestateSite, storeKinds } from "./restate-site.ts";

const sites: RestateSite[] = [];

afterEach(async () => {
  for (const site of sites.splice(0)) await site[Symbol.asyncDispose]();
});

test.each(storeKinds)(
  "on Restate with %s a run can be listed, steered, approved after a killed worker, topped up at its cap, and completed",
  async (kind) => {
    const site = await RestateSite.open(kind);
    sites.push(site);
    const budget = { maxCostUsd: 0.06, onLimit: "wait" };
    const tree = { agent: "writer", input: "Send the report", id: "report", name: "Weekly report", budget };
    expect(await site.begin(tree)).toBe(202);
    const { page, faults } = await visit(site, "/runs");
    const { keyboard } = page;
    await page
      .getByRole("row", { name: /Weekly report/ })
      .getByText("needs you")
      .waitFor();
    await page.getByRole("link", { name: "Weekly report" }).click();
    await page.getByRole("treegrid").waitFor();
    await page
      .getByText(/send_email/)
      .first()
      .waitFor();
    await keyboard.press("s");
    await page.getByRole("dialog", { name: "Steer writer" }).getByRole("textbox").fill("Be brief");
    await page.getByRole("button", { name: "Steer", exact: true }).last().click();
    await page.getByText("Steered: read before the next model call").waitFor();
    await site.kill("worker");
    await site.start("worker");
    const inbox = await visit(site, "/approvals");
    const approve = inbox.page.getByRole("button", { name: "Approve once" });
    await approve.waitFor();
    // A press that comes too soon after the card decides nothing, so it is pressed until it counts.
    await expect
      .poll(async () => {
        await inbox.page.keyboard.press("a");
        return inbox.page.getByText("Nothing waits for you").isVisible();
      })
      .toBe(true);
    await page
      .getByRole("row", { name: /writer/ })
      .getByText(/waiting for budget/)
      .waitFor();
    await keepPicture(page, `restate-cap-${kind.toLowerCase()}`);
    await keyboard.press("t");
    await page.getByRole("dialog", { name: "Top up writer" }).waitFor();
    await keyboard.press("Enter");
    await page.locator(".head").getByText("completed").waitFor();
    await expect.poll(() => page.locator(".keys .right").textContent()).toMatch(/^event [\d,]+ · over$/);
    const outcome = await (await fetch(`${site.origin}/runs/report/result`)).json();
    expect(outcome).toMatchObject({ status: "completed", output: "Sent." });
    expect([...faults, ...inbox.faults].filter((fault) => !fault.includes("ERR_CONNECTION"))).toEqual([]);
  },
);
