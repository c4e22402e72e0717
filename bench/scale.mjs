// node bench/scale.mjs <peer>: the cost of a step as the history grows, and of a call as the batch grows.
import * as m from "./mock.mjs";
import { silence } from "./silence.mjs";

silence();
const peer = process.argv[2] ?? "ours";
const { setup } = await import(`./peers/${peer}/adapter.mjs`);
const { W2, W3 } = await setup();

/** Returns the lowest CPU time of several tries: disturbed tries do not count. */
async function best(run, tries) {
  let least = Infinity;
  for (let attempt = 0; attempt < tries; attempt++) {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}

const figures = {};
for (let warm = 0; warm < 30; warm++) await W2();
for (const turns of [10, 100, 200]) {
  m.cfg.loop = turns;
  figures[`µs a step, ${turns} turns`] = (await best(W2, turns > 10 ? 12 : 60)) / (turns + 1);
}
for (const calls of [10, 50, 200]) {
  m.cfg.par = calls;
  figures[`µs a tool call, ${calls} at once`] = (await best(W3, 12)) / calls;
}
for (const [what, value] of Object.entries(figures)) console.log(`${what}: ${value.toFixed(1)}`);
process.exit(0);
