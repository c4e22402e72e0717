// node --conditions=reeve-source bench/function-calls.mjs [W1 W2 ...]
//
// Counts the function calls in one run of a workload: our own, and those of Node below them. Unlike time, the number is
// the same on every machine, so a test can assert it.
import inspector from "node:inspector/promises";
import { setup } from "./peers/ours/adapter.mjs";

/** Repetitions per workload: rare work, such as timer cleanup, is averaged over several runs. */
const runs = 20;

const workloads = await setup();
const names = process.argv.slice(2);
const session = new inspector.Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const counts = {};
for (const name of names.length > 0 ? names : ["W1", "W2"]) {
  const run = workloads[name];
  if (!run) throw new Error(`there is no workload ${name}`);
  for (let index = 0; index < runs; index++) await run();
  await settle();
  await session.post("Profiler.takePreciseCoverage");
  for (let index = 0; index < runs; index++) await run();
  await settle();
  counts[name] = Math.round((await countCalls()) / runs);
}
console.log(JSON.stringify(counts));
process.exit(0);

/** Waits until the store has the events of the last runs. */
function settle() {
  return new Promise((resolve) => setTimeout(resolve, 300));
}

/** Returns the number of calls since the last time. */
async function countCalls() {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  let calls = 0;
  for (const { functions } of result) for (const { ranges } of functions) calls += ranges[0]?.count ?? 0;
  return calls;
}
