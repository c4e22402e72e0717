import { mkdtemp, readFile, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { buildPage } from "../../../ui/build.ts";
import { percentile } from "./live-tap.ts";
import { mailingTeam } from "./mailing-team.ts";
import { openContext, pageFolder, siteOf, visit } from "./open-page.ts";
import { expectWithin } from "../../effort.ts";

/** Names of the requested files of the page. */
const filesOf = (requests: readonly string[]): readonly string[] =>
  requests.flatMap((line) => /^GET \/ui\/(assets\/\S+)/.exec(line)?.[1] ?? []);

async function sizeOf(files: readonly string[], ending: RegExp): Promise<number> {
  const sizes = files
    .filter((file) => ending.test(file))
    .map(async (file) => gzipSync(await readFile(join(pageFolder, file)), { level: 9 }).length);
  return (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0);
}

test("a page with more code or fonts than allowed is not built", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-page-"));
  try {
    const most = { code: 250_000, fonts: 55_000 };
    await expect(buildPage(folder, { ...most, code: 1_000 })).rejects.toThrow(
      /^code and styles of the page: \d+ bytes, at most 1000 are allowed$/,
    );
    await expect(buildPage(folder, { ...most, fonts: 1_000 })).rejects.toThrow(/^fonts of the page: /);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the list of runs loads without the code of the step, spend and playground screens", async () => {
  const site = await siteOf(mailingTeam("The report is attached.").agents);
  const { page, faults } = await visit(site, "/runs");
  await page.getByRole("heading", { name: "Nothing has run yet" }).waitFor();
  const first = filesOf(site.wire.requests);
  const [code, fonts] = [await sizeOf(first, /\.(js|css)$/), await sizeOf(first, /\.woff2$/)];
  // oxlint-disable-next-line no-console -- the figures are the point
  console.log("first load", JSON.stringify({ code, fonts, files: first.length }));
  expect(code).toBeGreaterThan(50_000);
  expect(code).toBeLessThanOrEqual(250_000);
  expect(fonts).toBeLessThanOrEqual(55_000);
  for (const [path, shown] of [
    ["/spend", "Nothing was spent in 14 days"],
    ["/play/lead", ""],
    ["/runs/none/0/none~0:model:1", "Nothing here that your key can see"],
  ] as const) {
    const before = new Set(filesOf(site.wire.requests));
    const opened = await visit(site, path);
    await (
      shown === "" ? opened.page.getByRole("textbox", { name: "Task" }) : opened.page.getByText(shown).first()
    ).waitFor();
    const later = filesOf(site.wire.requests).filter((file) => !before.has(file) && file.endsWith(".js"));
    expect([path, later.length > 0]).toEqual([path, true]);
  }
  expect(faults).toEqual([]);
});

test("the list of runs is usable after less than 700 ms of work in a browser without a cache", async () => {
  const { agents, lead } = mailingTeam("The report is attached.");
  const site = await siteOf(agents);
  await site.runtime.start(lead, "Send it", { id: "report", name: "The report" });
  const [wall, work]: [number[], number[]] = [[], []];
  for (let round = 0; round < 5; round += 1) {
    const context = await openContext();
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const begun = performance.now();
    await page.goto(`${site.origin}/ui/runs`);
    await page.getByRole("link", { name: "The report" }).waitFor();
    wall.push(performance.now() - begun);
    const { metrics } = await session.send("Performance.getMetrics");
    work.push(1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Infinity));
  }
  const figures = { wallMs: percentile(wall, 0.5), workMs: percentile(work, 0.5), load: loadavg()[0] };
  // oxlint-disable-next-line no-console -- the figures are the point
  console.log("cold runs", JSON.stringify(figures));
  // Wall time depends on the machine's load, so only processor time is asserted.
  expectWithin(700, figures.workMs);
});
