import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import type { NumberedEvent, RunResult } from "reeve";
import type { RunLedger } from "#runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TerminalWindow } from "../cli/terminal-window.ts";
import { freePort } from "../free-port.ts";
import { packBeside } from "./packed.ts";
import { currentNode } from "./platform.ts";
import { installMs, Terminal } from "./terminal.ts";
import { patienceMs } from "../effort.ts";

const platform = currentNode();
const pictures = process.env["REEVE_PICTURES"];
let top = "";
let project = "";
let url = "";
let window: TerminalWindow;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  const packed = await packBeside("start");
  top = packed.top;
  const terminal = new Terminal(platform, packed.folder);
  await terminal.run("npm init -y && npm install ../reeve/reeve-0.0.0.tgz");
  await terminal.run("npx reeve init demo --reeve ../reeve/reeve-0.0.0.tgz");
  await terminal.run("cd demo");
  await terminal.run("npm install");
  project = terminal.folder;
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: sandbox });
}, installMs);

afterAll(async () => {
  await browser?.close();
  await window?.[Symbol.asyncDispose]();
  rmSync(top, { recursive: true, force: true, maxRetries: 3 });
});

/** A browser that keeps the address it is given, first on the search path. */
function fakeOpener(): { readonly bin: string; readonly readOpened: () => string } {
  const bin = join(top, "bin");
  mkdirSync(bin);
  for (const name of ["xdg-open", "open"]) {
    writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s' "$*" > "${bin}/opened"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const readOpened = (): string => {
    try {
      return readFileSync(join(bin, "opened"), "utf8");
    } catch {
      return "";
    }
  };
  return { bin, readOpened };
}

async function read<Answer>(path: string): Promise<Answer> {
  const response = await fetch(`${url}${path}`);
  return JSON.parse(await response.text());
}

/** The events of a tree up to one of them. @throws if the stream ends before. */
async function eventsOf(tree: string, last: (event: NumberedEvent) => boolean): Promise<NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  const response = await fetch(`${url}/runs/${tree}/events?deltas=false`);
  let rest = "";
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.filter((each) => each.startsWith("data: {"))) {
      const event: NumberedEvent = JSON.parse(line.slice("data: ".length));
      events.push(event);
      if (last(event)) return events;
    }
  }
  throw new Error(`the events of ${tree} ended after ${events.length}`);
}

/**
 * Watches the worker by a stream of its own, which breaks when the process dies. The page says that the server does not
 * answer whenever it opens its stream again, which may be before the kill.
 */
async function watchWorker(tree: string): Promise<{ readonly goneAt: Promise<number> }> {
  const begun = Promise.withResolvers<void>();
  const watched = eventsOf(tree, () => {
    begun.resolve();
    return false;
  });
  const goneAt = watched.then(
    () => NaN,
    () => Date.now(),
  );
  await begun.promise;
  return { goneAt };
}

const attemptOf = ({ eventId }: NumberedEvent): string => eventId.slice(eventId.lastIndexOf("/") + 1);

/** Money in micro-dollars, added up from events. An attempt that was reserved and never settled is in doubt. */
function moneyOf(events: readonly NumberedEvent[]) {
  const open = new Map<string, NumberedEvent & { readonly type: "budget.reserved" }>();
  let settled = 0;
  let inDoubt = 0;
  for (const event of events) {
    if (event.type === "budget.reserved") open.set(attemptOf(event), event);
    if (event.type !== "budget.settled") continue;
    open.delete(attemptOf(event));
    if (event.inDoubt) inDoubt += event.costMicros;
    else settled += event.costMicros;
  }
  const lost = [...open.values()];
  return { settled, inDoubt: inDoubt + lost.reduce((sum, { costMicros }) => sum + costMicros, 0), lost };
}

/**
 * The attempts that may have been in flight when the worker died: of each run it had, the last one before or the first one after.
 * The engine may deliver a reservation of the dead worker to the next one, which books it seconds later.
 */
function attemptsAtKill(events: readonly NumberedEvent[], goneAt: number): ReadonlySet<string> {
  const runs = new Set<string>(
    events.flatMap(({ type, at, runId }) => (type === "run.start" && at <= goneAt ? runId : [])),
  );
  const reserved = Map.groupBy(
    events.filter(({ type, runId }) => type === "budget.reserved" && runs.has(runId)),
    ({ runId }) => runId,
  );
  const candidates = [...reserved.values()].flatMap((ofRun) => [
    ofRun.findLast(({ at }) => at <= goneAt),
    ofRun.find(({ at }) => at > goneAt),
  ]);
  return new Set(candidates.flatMap((event) => (event ? attemptOf(event) : [])));
}

const micros = (dollars: string): number => Math.round(Number(dollars.replace("$", "")) * 1_000_000);

async function picture(name: string): Promise<void> {
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, `demo-${name}.png`) });
}

/** Presses a key until it counts: a key press too soon after a question has no effect. */
async function pressUntil(key: string, isDone: () => Promise<boolean>): Promise<void> {
  await page.getByRole("log").focus();
  await expect
    .poll(async () => {
      await page.keyboard.press(key);
      return isDone();
    })
    .toBe(true);
}

test("a key press opens the playground with a task in its input", async () => {
  const { bin, readOpened } = fakeOpener();
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const path = `${bin}:${platform.bin}:${process.env["PATH"]}`;
  const start = `cd '${project}' && PATH='${path}' exec npx reeve dev --port ${port}`;
  window = await TerminalWindow.open(["bash", "-c", start]);
  const screen = async (): Promise<string> => (await window.screen()).join("\n");
  await expect.poll(screen).toContain("lead, researcher, reviewer, writer");
  expect(await screen()).toContain(`dashboard  ${url}/ui   (press o)`);
  await window.press("o");
  await expect.poll(readOpened).toBe(`${url}/ui`);
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(patienceMs());
  await page.goto(readOpened());
  const box = page.getByRole("textbox", { name: "Task" });
  await box.waitFor();
  expect(await box.inputValue()).toBe("Report on heat pumps in Europe, and mail it to the team.");
});

/** Checks events, result and receipt of a completed tree against the state before its worker was killed. */
async function expectExactCost(
  tree: string,
  {
    before,
    shown,
    goneAt,
  }: {
    readonly before: Awaited<ReturnType<typeof eventsOf>>;
    readonly shown: string;
    readonly goneAt: number;
  },
): Promise<void> {
  const after = await eventsOf(tree, (event) => event.type === "run.end" && event.runId === `${tree}~0`);
  expect(after.map((event) => event.seq)).toEqual(after.map((_, index) => index + 1));
  // The kill changed no settled amount.
  expect(after.slice(0, before.length)).toEqual(before);
  const sums = after.map((_, index) => moneyOf(after.slice(0, index + 1)).settled);
  expect(sums).toContain(micros(/\$[\d.]+/.exec(shown)?.[0] ?? ""));
  // Only calls in flight at the kill are in doubt, and a run has at most one of them.
  const { settled, inDoubt, lost } = moneyOf(after);
  const atKill = attemptsAtKill(after, goneAt);
  expect(lost.filter((event) => !atKill.has(attemptOf(event)))).toEqual([]);
  expect(lost.map(({ runId }) => runId)).toEqual([...new Set(lost.map(({ runId }) => runId))]);
  const result = await read<RunResult>(`/runs/${tree}/result`);
  expect(result).toMatchObject({
    status: "completed",
    costMicros: settled + inDoubt,
    inDoubtMicros: inDoubt,
  });
  const total = await page
    .getByRole("table", { name: "Receipt" })
    .getByRole("row", { name: /^Total/ })
    .innerText();
  expect(micros(/\$([\d.]+)/.exec(total)?.[0] ?? "")).toBe(settled + inDoubt);
  expect(result.costMicros).toBeGreaterThan(500_000);
}

test("after every fault of the playground the run completes, and its cost is exact to the micro-dollar", async () => {
  await page.getByRole("textbox", { name: "Task" }).press("Enter");
  await page.locator(".spawn", { hasText: "researcher" }).nth(3).waitFor();
  const { items } = await read<{ items: { treeId: string }[] }>("/runs?roots=true&size=1");
  const tree = items[0]?.treeId ?? "";
  const reserved = async (): Promise<number> =>
    (await read<RunLedger>(`/runs/${tree}/ledger`)).tree.reserved.costMicros;
  await expect.poll(reserved, { interval: 20 }).toBeGreaterThan(0);
  // The bar shows money that is reserved ahead of money that is spent.
  await page
    .getByRole("img", { name: /spent, \$0\.(?!0000 )\d+ reserved/ })
    .first()
    .waitFor();
  const { seq } = await read<{ seq: number }>(`/runs/${tree}/view`);
  const before = await eventsOf(tree, (event) => event.seq === seq);
  await picture("works");

  const worker = await watchWorker(tree);
  await page.getByRole("button", { name: "Kill its worker" }).click();
  const money = page.getByLabel("Cost before and after the kill");
  await page.getByText("The server has not answered for").waitFor();
  const goneAt = await worker.goneAt;
  await picture("worker-gone");
  await money.getByText("It continues").waitFor();
  const shown = await money.getByText(", kept").innerText();

  await page.getByRole("button", { name: "Inject a prompt through a page" }).click();
  await page.getByText("May writer call send_email?").waitFor();
  await page.getByText("is Cyrillic U+0430").waitFor();
  await page.getByText("this run has seen both untrusted and private content").waitFor();
  await picture("orders-of-a-page");
  await page.getByRole("button", { name: "Exceed its budget" }).click();
  const decided = async (count: number): Promise<boolean> =>
    (await read<{ items: unknown[] }>(`/approvals?tree=${tree}&state=decided`)).items.length === count;
  await pressUntil("d", () => decided(1));
  await page.getByText("team@example.com", { exact: true }).waitFor();
  await pressUntil("a", () => decided(2));

  await page.locator(".qn").getByRole("button", { name: "Top up" }).waitFor();
  const { tree: full } = await read<RunLedger>(`/runs/${tree}/ledger`);
  expect(full.settled.costMicros + full.inDoubt.costMicros + full.reserved.costMicros).toBeLessThanOrEqual(
    500_000,
  );
  await picture("cap-is-met");
  await page.getByRole("log").focus();
  await page.keyboard.press("t");
  await page.getByRole("dialog", { name: "Top up lead" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Topped up by $0.20").waitFor();

  await page.getByRole("table", { name: "Receipt" }).waitFor();
  await picture("receipt");
  await expectExactCost(tree, { before, shown, goneAt });
});

test("code that does not load is a banner in the page, until it loads again", async () => {
  const file = join(project, "agents.ts");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, `${text}\nmissing();\n`);
  await page.getByRole("alert").getByText("ReferenceError: missing is not defined").waitFor();
  await picture("code-does-not-load");
  writeFileSync(file, text);
  await page.getByRole("alert").waitFor({ state: "detached" });
});

test("Ctrl-C stops everything", async () => {
  await window.press("C-c");
  await window.waitForEnd();
  await expect(fetch(`${url}/health`)).rejects.toThrow("fetch failed");
});
