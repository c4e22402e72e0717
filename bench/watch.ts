// What a redraw of `reeve watch` costs: 200 agents, 140 x 50, in colour, ink included.
// NODE_ENV=production node --conditions=reeve-source bench/watch.ts
import { PassThrough } from "node:stream";
import { render } from "ink";
import { createElement } from "react";
import { ReeveClient } from "../src/cli/client/reeve-client.ts";
import { paintFor } from "../src/cli/text/paint.ts";
import { WatchScreen } from "../src/cli/watch/watch-screen.ts";
import { Watcher } from "../src/cli/watch/watcher.ts";
import { Story } from "../test/cli/story.ts";

const frames = 300;
const warmUp = 100;

const story = new Story().starts(0, "boss").asks(0, "a", { cost: 10_000 });
story.tell(0, "tool.start", { tool: "survey", callId: "c" });
for (let n = 1; n <= 200; n += 1) story.starts(n, `digger/${n}`, { boss: 0 });

const nobody = new ReeveClient({ url: "http://127.0.0.1:9", key: null });
const limits = { caps: { tree: 20_000_000, runs: new Map() }, see: () => {} };
const watcher = new Watcher(nobody, story.treeId, limits);
for (const event of story.events) watcher.see(event);

const stdout = Object.assign(new PassThrough(), { columns: 140, rows: 50, isTTY: true });
stdout.resume();
const stdin = Object.assign(new PassThrough(), {
  isTTY: true,
  setRawMode: () => stdin,
  ref: () => stdin,
  unref: () => stdin,
});
const element = createElement(WatchScreen, { watcher, paint: paintFor(true, {}), now: () => story.now });
let redraws = 0;
const onRender = (): void => void (redraws += 1);
const screen = render(element, { stdout, stdin, interactive: true, patchConsole: false, onRender });

const costs: number[] = [];
for (let n = 0; n < frames; n += 1) {
  const run = 1 + (n % 200);
  story.after(50).asks(run, `call-${n}`, { cost: 5_000 });
  const drawn = redraws;
  const before = process.cpuUsage();
  for (const event of story.events.slice(-4)) watcher.see(event);
  watcher.line("found"); // draws at once
  await screen.waitUntilRenderFlush();
  const { user, system } = process.cpuUsage(before);
  // The clock on the screen draws, too.
  costs.push((user + system) / 1000 / Math.max(1, redraws - drawn));
}
screen.unmount();
const warm = costs.slice(warmUp).toSorted((a, b) => a - b);
const at = (share: number): string => (warm[Math.floor(warm.length * share)] ?? 0).toFixed(1);
console.log(`CPU of a redraw: median ${at(0.5)} ms, p95 ${at(0.95)} ms`);
process.exit(0);
