// The cost of thousands of runs that wait for a signal, and whether all survive a kill of worker and server.
import { parkRuns } from "../../test/engines/restate/scenarios/parked.ts";
import { print } from "./measure.ts";

const runs = Number(process.env["BENCH_RUNS"] ?? 3_000);
const mostMegabytes = 20;

const { idle, parked, parkedMs, resumedMs, completed } = await parkRuns(runs);
const megabytes = (parked.heapBytes - idle.heapBytes) / 1e6;
print(
  ["runs parked", runs],
  ["until parked, s", parkedMs / 1000],
  ["executions in the worker", parked.executions],
  ["heap above idle, MB", megabytes],
  ["completed after restart", completed],
  ["signalled and ended, s", resumedMs / 1000],
);
if (parked.executions > 0 || megabytes > mostMegabytes || completed < runs) process.exitCode = 1;
