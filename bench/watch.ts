// The cost of a redraw of `reeve watch`: 200 agents, 140 x 50, in colour, each after a call of one of them.
// node --conditions=reeve-source bench/watch.ts
import { loadavg } from "node:os";
import { manualClock } from "../src/testing/index.ts";
import { ReeveClient } from "../src/cli/client/reeve-client.ts";
import { WatchScreen } from "../src/cli/watch/watch-screen.ts";
import { Watcher } from "../src/cli/watch/watcher.ts";
import { FakeTerminal } from "../test/cli/fake-terminal.ts";
import { Story } from "../test/cli/story.ts";

const frames = 1_000;
const warmUp = 100;

const story = new Story().starts(0, "lead").asks(0, "a", { cost: 10_000 });
story.tell(0, "tool.start", { tool: "survey", callId: "c" });
for (let n = 1; n <= 200; n += 1) story.starts(n, `researcher/${n}`, { parent: 0 });

const unreachable = new ReeveClient({ url: "http://127.0.0.1:9", key: null });
const limits = { caps: { tree: 20_000_000, runs: new Map() }, see: () => {} };
const watcher = new Watcher(unreachable, story.treeId, limits);
for (const event of story.events) watcher.see(event);

const terminal = new FakeTerminal({ isTTY: true, columns: 140, rows: 50 });
const screen = new WatchScreen(watcher, terminal, manualClock(story.now));

const costs: number[] = [];
for (let n = 0; n < frames; n += 1) {
  const run = 1 + (n % 200);
  story.advance(50).asks(run, `call-${n}`, { cost: 5_000 });
  const before = process.cpuUsage();
  for (const event of story.events.slice(-4)) watcher.see(event);
  terminal.type(n % 100 < 50 ? "j" : "k"); // draws at once
  const { user, system } = process.cpuUsage(before);
  costs.push((user + system) / 1000);
}
screen.close();
const bytes = terminal.said.length / frames;
const warm = costs.slice(warmUp).toSorted((a, b) => a - b);
const quantile = (share: number): string => (warm[Math.floor(warm.length * share)] ?? 0).toFixed(1);
console.log(
  `CPU of a redraw: median ${quantile(0.5)} ms, p95 ${quantile(0.95)} ms, p99 ${quantile(0.99)} ms`,
);
console.log(`${bytes.toFixed(0)} bytes each; load average ${loadavg()[0]?.toFixed(1)}`);
