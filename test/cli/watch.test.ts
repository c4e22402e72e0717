import { PassThrough } from "node:stream";
import { render, renderToString } from "ink";
import { createElement } from "react";
import { RunId } from "reeve/kernel";
import { expect, test } from "vitest";
import { ReeveClient } from "../../src/cli/client/reeve-client.ts";
import { plainPaint } from "../../src/cli/text/paint.ts";
import { widthOf } from "../../src/cli/text/width.ts";
import { TreeModel } from "../../src/cli/tree/tree-model.ts";
import { press, type WatchKey } from "../../src/cli/watch/watch-keys.ts";
import { WatchScreen } from "../../src/cli/watch/watch-screen.ts";
import { atFirst, type WatchState } from "../../src/cli/watch/watch-state.ts";
import { Watcher } from "../../src/cli/watch/watcher.ts";
import { approval, askingTeam, Story } from "./story.ts";

/** Whom no key in these tests reaches. */
const nobody = new ReeveClient({ url: "http://127.0.0.1:9", key: null });

function watching(story: Story): Watcher {
  const caps = { tree: 20_000_000, runs: new Map([[story.run(1), 100_000]]) };
  const watcher = new Watcher(nobody, story.treeId, { caps, see: () => {} });
  for (const event of story.events) watcher.see(event);
  return watcher;
}

/** A boss with so many helpers at work. */
function crowd(agents: number): Story {
  const story = new Story().starts(0, "boss").asks(0, "a", { cost: 10_000 });
  story.tell(0, "tool.start", { tool: "survey", callId: "c" });
  for (let n = 1; n <= agents; n += 1) story.starts(n, `digger/${n}`, { boss: 0 }).asks(n, `d${n}`, {});
  return story;
}

const key = (input: string, name: WatchKey["name"] = null): WatchKey => ({ input, name });

test.each([80, 140])("a watched team, at %i columns", (columns) => {
  const story = askingTeam();
  const watcher = watching(story);
  watcher.press(key("", "down"), 14);
  watcher.press(key("j"), 14);
  const size = { columns, rows: 14 };
  const screen = createElement(WatchScreen, { watcher, paint: plainPaint, now: () => story.now, size });
  const text = renderToString(screen, { columns });
  for (const line of text.split("\n")) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  expect(text).toMatchSnapshot();
});

test.each([80, 140])("two hundred agents scroll, at %i columns", (columns) => {
  const story = crowd(200).after(2_000);
  const watcher = watching(story);
  for (let n = 0; n < 4; n += 1) watcher.press(key("", "pageDown"), 14);
  watcher.press(key("c"), 14);
  const size = { columns, rows: 14 };
  const screen = createElement(WatchScreen, { watcher, paint: plainPaint, now: () => story.now, size });
  const text = renderToString(screen, { columns });
  expect(text.split("\n")).toHaveLength(14);
  expect(text).toMatchSnapshot();
});

function pressed(state: WatchState, input: string, name: WatchKey["name"] = null) {
  return press(state, key(input, name), TreeModel.of(askingTeam().events).root, 8);
}

test("keys act on the selected run", () => {
  const clerk = { ...atFirst, selected: RunId.parse("mill-books~2") };
  expect(pressed(atFirst, "p").order).toEqual({ kind: "pause", run: "mill-books~0" });
  expect(pressed(clerk, "r").order).toEqual({ kind: "resume", run: "mill-books~2" });
  expect(pressed(clerk, "a").order).toEqual({ kind: "approve", approval });
  expect(pressed(clerk, "d").order).toEqual({ kind: "deny", approval });
  expect(pressed(atFirst, "q").order).toEqual({ kind: "leave" });
});

test("the only question there is can be answered from any row; without one that is said", () => {
  expect(pressed(atFirst, "a").order).toEqual({ kind: "approve", approval });
  const { state, order } = press(atFirst, key("a"), TreeModel.of(crowd(2).events).root, 8);
  expect([state.note, order]).toEqual(["nothing waits for approval", null]);
});

test("a cancel is asked about first", () => {
  const asked = pressed(atFirst, "c");
  expect(asked.order).toBeNull();
  expect(pressed(asked.state, "n").order).toBeNull();
  expect(pressed(asked.state, "", "escape").order).toBeNull();
  expect(pressed(asked.state, "y").order).toEqual({ kind: "cancel", run: "mill-books~0" });
});

test("a top-up takes the amount that is typed", () => {
  let { state } = pressed(atFirst, "t");
  for (const [input, name] of [
    ["1", null],
    ["x", null],
    [".", null],
    ["5", null],
    ["7", null],
    ["", "backspace"],
  ] as const)
    ({ state } = pressed(state, input, name));
  expect(pressed(state, "", "return").order).toEqual({ kind: "top-up", run: "mill-books~0", dollars: 1.5 });
});

/** A terminal of its own, for ink. */
function inkTerminal(columns: number, rows: number) {
  const stdout = Object.assign(new PassThrough(), { columns, rows, isTTY: true });
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => stdin,
    ref: () => stdin,
    unref: () => stdin,
  });
  /** Resolves when something that has these words is drawn. */
  const drawn = (words: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (chunk: Buffer): void => {
        if (!chunk.toString().includes(words)) return;
        stdout.off("data", look);
        resolve();
      };
      stdout.on("data", look);
    });
  return { stdout, stdin, drawn };
}

test("with 200 agents a screen takes less than 16 ms of CPU", () => {
  const story = crowd(200);
  const watcher = watching(story);
  const costs: number[] = [];
  for (let n = 1; n <= 60; n += 1) {
    story.after(50).answers(n, `d${n}`, 5_000);
    const before = process.cpuUsage();
    for (const event of story.events.slice(-2)) watcher.see(event);
    watcher.lines({ width: 140, height: 50, paint: plainPaint, now: story.now });
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1000);
  }
  expect(costs.toSorted((a, b) => a - b)[costs.length / 2]).toBeLessThan(16);
});

test("with 200 agents a key is answered within 100 ms", async () => {
  const story = crowd(200);
  const watcher = watching(story);
  const { stdout, stdin, drawn } = inkTerminal(140, 50);
  const begun = drawn("digger/1 ");
  const element = createElement(WatchScreen, { watcher, paint: plainPaint, now: () => story.now });
  const screen = render(element, { stdout, stdin, interactive: true, patchConsole: false });
  try {
    await begun;
    const tookMs: number[] = [];
    for (let n = 1; n <= 9; n += 1) {
      const answered = drawn(`mill-books~${n}  digger/${n}`);
      const pressedAt = performance.now();
      stdin.write("j");
      await answered;
      tookMs.push(performance.now() - pressedAt);
    }
    expect(tookMs.toSorted((a, b) => a - b)[4]).toBeLessThan(100);
  } finally {
    screen.unmount();
  }
});
