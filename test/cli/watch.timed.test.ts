import { AttemptId, StepId } from "reeve/store";
import { RunId } from "reeve";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { TreeModel } from "../../src/view/index.ts";
import type { CapSource } from "../../src/cli/client/cap-reader.ts";
import { ReeveClient } from "../../src/cli/client/reeve-client.ts";
import { FullScreen } from "../../src/cli/live/full-screen.ts";
import { widthOf } from "../../src/cli/text/width.ts";
import { keysIn, press, type WatchKey } from "../../src/cli/watch/watch-keys.ts";
import { WatchScreen } from "../../src/cli/watch/watch-screen.ts";
import { atFirst, type WatchState } from "../../src/cli/watch/watch-state.ts";
import { Watcher } from "../../src/cli/watch/watcher.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import { screenOf } from "./screen-of.ts";
import { approval, askingTeam, Story } from "./story.ts";
import { expectWithin } from "../effort.ts";

/** A client that no key in these tests reaches. */
const unreachable = new ReeveClient({ url: "http://127.0.0.1:9", key: null });

function watcherOf(story: Story): Watcher {
  const caps = { tree: 20_000_000, runs: new Map([[story.run(1), 100_000]]) };
  return watcherFedWith(story, { caps, see: () => {} });
}

function watcherFedWith(story: Story, limits: CapSource): Watcher {
  const watcher = new Watcher(unreachable, story.treeId, limits);
  for (const event of story.events) watcher.see(event);
  return watcher;
}

/** A parent with this many working children. */
function crowd(agents: number): Story {
  const story = new Story().starts(0, "lead").asks(0, "a", { cost: 10_000 });
  story.tell(0, "tool.start", { tool: "survey", callId: "c" });
  for (let n = 1; n <= agents; n += 1) story.starts(n, `researcher/${n}`, { parent: 0 }).asks(n, `d${n}`, {});
  return story;
}

const key = (input: string, name: WatchKey["name"] = null): WatchKey => ({ input, name });

/** A watched story on its own terminal, with a manual clock. */
function screen(
  story: Story,
  size: { readonly columns: number; readonly rows: number },
  watcher = watcherOf(story),
) {
  const terminal = new FakeTerminal({ isTTY: true, environment: { NO_COLOR: "1" }, ...size });
  const clock = manualClock(story.now);
  const drawn = new WatchScreen(watcher, terminal, clock);
  return { watcher, terminal, clock, drawn, readScreen: () => screenOf(terminal.said) };
}

const up = "\u001B[A";
const down = "\u001B[B";
const pageDown = "\u001B[6~";

test.each([80, 140])("a watched team fits %i columns", (columns) => {
  const { terminal, readScreen } = screen(askingTeam(), { columns, rows: 14 });
  terminal.type(down);
  terminal.type("j");
  for (const line of readScreen()) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  expect(readScreen().join("\n")).toMatchSnapshot();
});

test.each([80, 140])("two hundred agents scroll within %i columns", (columns) => {
  const { terminal, readScreen } = screen(crowd(200).advance(2_000), { columns, rows: 14 });
  terminal.type(`${pageDown.repeat(4)}c`);
  expect(readScreen()).toHaveLength(14);
  expect(readScreen().join("\n")).toMatchSnapshot();
});

test("the selected run's text is shown live", async () => {
  const story = crowd(2);
  const { watcher, clock, readScreen } = screen(story, { columns: 80, rows: 14 });
  const place = {
    runId: story.run(1),
    step: StepId.of(story.run(1), "step", 1),
    attempt: AttemptId.of("d1"),
  };
  watcher.applyDelta({ ...place, kind: "reset", text: "" });
  watcher.applyDelta({ ...place, kind: "text", text: "It was\nbuilt in " });
  watcher.press({ input: "j", name: null }, 14);
  await clock.advance(100);
  expect(readScreen()).toContain("“built in");
  watcher.applyDelta({ ...place, kind: "text", text: "1987." });
  await clock.advance(100);
  expect(readScreen()).toContain("“built in 1987.");
});

function pressKey(state: WatchState, input: string, name: WatchKey["name"] = null) {
  return press(state, key(input, name), { root: TreeModel.of(askingTeam().events).root, pageRows: 8 });
}

test("keys act on the selected run", () => {
  const writer = { ...atFirst, selected: RunId.parse("heat-pumps~2") };
  expect(pressKey(atFirst, "p").order).toEqual({ kind: "pause", run: "heat-pumps~0" });
  expect(pressKey(writer, "r").order).toEqual({ kind: "resume", run: "heat-pumps~2" });
  expect(pressKey(writer, "a").order).toEqual({ kind: "review", approval });
  expect(pressKey(writer, "d").order).toEqual({ kind: "deny", approval });
  expect(pressKey(atFirst, "q").order).toEqual({ kind: "leave" });
});

test("the only open question can be answered from any row; without one a message is shown", () => {
  expect(pressKey(atFirst, "a").order).toEqual({ kind: "review", approval });
  const { state, order } = press(atFirst, key("a"), {
    root: TreeModel.of(crowd(2).events).root,
    pageRows: 8,
  });
  expect([state.note, order]).toEqual(["nothing waits for approval", null]);
});

test("a cancel needs confirmation", () => {
  const asked = pressKey(atFirst, "c");
  expect(asked.order).toBeNull();
  expect(pressKey(asked.state, "n").order).toBeNull();
  expect(pressKey(asked.state, "", "escape").order).toBeNull();
  expect(pressKey(asked.state, "y").order).toEqual({ kind: "cancel", run: "heat-pumps~0" });
});

test("a top-up takes the amount that is typed", () => {
  let { state } = pressKey(atFirst, "t");
  for (const [input, name] of [
    ["1", null],
    ["x", null],
    [".", null],
    ["5", null],
    ["7", null],
    ["", "backspace"],
  ] as const)
    ({ state } = pressKey(state, input, name));
  expect(pressKey(state, "", "return").order).toEqual({ kind: "top-up", run: "heat-pumps~0", dollars: 1.5 });
});

test("keys are parsed from terminal input, even when several arrive at once", () => {
  const names = keysIn(`${up}\u001BOB\u001B[5~${pageDown}\r\u007F\u001B[1;5C\u0003\u001B`).map(
    ({ name }) => name,
  );
  expect(names).toEqual([
    "up",
    "down",
    "pageUp",
    "pageDown",
    "return",
    "backspace",
    null,
    "interrupt",
    "escape",
  ]);
  expect(keysIn("jé鉱").map(({ input }) => input)).toEqual(["j", "é", "鉱"]);
});

test("with 200 agents a key is drawn at once, at any clock time; keys that arrive together are drawn once", () => {
  const { terminal, readScreen } = screen(crowd(200), { columns: 140, rows: 50 });
  for (let n = 1; n <= 9; n += 1) {
    terminal.type("j");
    expect(readScreen().join("\n")).toContain(`heat-pumps~${n}  researcher/${n}:`);
  }
  const before = terminal.out.written.length;
  terminal.type("j".repeat(30));
  expect(readScreen().join("\n")).toContain("heat-pumps~39  researcher/39:");
  expect(terminal.out.written.length - before).toBe(1);
});

test("at most ten screens a second are drawn", async () => {
  const story = crowd(200);
  const { watcher, terminal, clock } = screen(story, { columns: 140, rows: 50 });
  const before = terminal.out.written.length;
  for (let n = 1; n <= 20; n += 1) {
    story.advance(50).answers(n, `d${n}`, 5_000);
    for (const event of story.events.slice(-2)) watcher.see(event);
    await clock.advance(50);
  }
  expect(terminal.out.written.length - before).toBe(10);
});

test("only lines that differ are written", () => {
  const { out } = new FakeTerminal({ isTTY: true });
  const full = new FullScreen(out);
  full.draw(["a", "b", "c"]);
  const drawn = out.written.length;
  full.draw(["a", "b", "c"]);
  expect(out.written).toHaveLength(drawn);
  full.draw(["a", "B"]);
  expect(out.written.at(-1)).toBe("\u001B[2;1HB\u001B[K\u001B[3;1H\u001B[J");
});

test("resizing the terminal redraws the screen", async () => {
  const { terminal, clock, readScreen } = screen(askingTeam(), { columns: 140, rows: 30 });
  Object.assign(terminal.out, { columns: 60, rows: 14 });
  await clock.advance(100);
  for (const line of readScreen()) expect(widthOf(line)).toBeLessThanOrEqual(60);
});

test("with 200 agents a redraw takes less than 16 ms of CPU", () => {
  const story = crowd(200);
  const { watcher, terminal } = screen(story, { columns: 140, rows: 50 });
  const costs: number[] = [];
  for (let n = 1; n <= 60; n += 1) {
    story.advance(50).answers(n, `d${n}`, 5_000);
    const before = process.cpuUsage();
    for (const event of story.events.slice(-2)) watcher.see(event);
    terminal.type(n % 2 === 0 ? "j" : "k");
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1000);
  }
  expectWithin(16, costs.toSorted((a, b) => a - b)[costs.length / 2] ?? Infinity);
});

test("a drawing error is reported, and the terminal is restored", async () => {
  const story = askingTeam();
  let isBroken = false;
  const limits: CapSource = {
    get caps() {
      if (isBroken) throw new Error("no limits");
      return { tree: null, runs: new Map() };
    },
    see: () => {},
  };
  const { terminal, clock, drawn } = screen(story, { columns: 80, rows: 14 }, watcherFedWith(story, limits));
  isBroken = true;
  await clock.advance(100);
  await expect(drawn.failed).rejects.toThrow("no limits");
  drawn.close();
  expect(terminal.out.written.at(-1)).toBe("\u001B[?25h\u001B[?1049l");
  expect([terminal.type("j"), clock.waiting]).toEqual([false, 0]);
});
