// node --expose-gc bench/live.mjs [runs]: the memory of a run that waits for a signal, the memory left by a finished
// one, and whether runs get slower after many earlier ones.
import * as m from "./mock.mjs";
import { runtimeOf, setup } from "./peers/ours/adapter.mjs";

const count = Number(process.argv[2] ?? 1000);
const heap = async () => {
  await new Promise((resolve) => setTimeout(resolve, 100));
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};

const { W1, W2 } = await setup();
for (let warm = 0; warm < 100; warm++) await W2();
const before = await heap();
const cpuOf = async (times) => {
  const start = process.cpuUsage();
  for (let time = 0; time < times; time++) await W1();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / times;
};
const first = await cpuOf(count / 10);
for (let part = 0; part < 8; part++) await cpuOf(count / 10);
const last = await cpuOf(count / 10);
console.log(`a finished run leaves ${kB(((await heap()) - before) / count)}`);
console.log(`W1: first ${first.toFixed(0)} µs, last ${last.toFixed(0)} µs of ${count}`);

const { agents, runtime } = runtimeOf();
const empty = await heap();
const runs = [];
for (let number = 0; number < count; number++) runs.push(await runtime.start(agents.sleeper, m.USER));
console.log(`a live run holds ${kB(((await heap()) - empty) / count)}`);
await Promise.all(runs.map((run) => run.signal("go")));
await Promise.all(runs.map((run) => run.result()));
process.exit(0);

function kB(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
