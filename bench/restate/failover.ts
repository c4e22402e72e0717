// How long a run pauses when its worker is killed while another one is available; and how long a cancel takes to end a
// tree of 13 runs on two workers.
import { restateServer } from "reeve/engines/restate";
import { cancelTree } from "../../test/engines/restate/scenarios/cancel-tree.ts";
import { failover } from "../../test/engines/restate/scenarios/failover.ts";
import { atPercent, median, print } from "./measure.ts";

const kills = Number(process.env["BENCH_KILLS"] ?? 20);
const cancels = Number(process.env["BENCH_CANCELS"] ?? 10);

await using server = await restateServer();
print(["", "median ms", "p95 ms", "most ms"]);
const once = await failover(server, { runs: kills, killsOfEach: 1 });
report(`${kills} runs, killed once`, once);
if (median(once) > 1_000 || atPercent(once, 95) > 3_000) process.exitCode = 1;
// The server's pauses between attempts grow with each: here one sees their limit.
report(`1 run, killed ${kills} times`, await failover(server, { runs: 1, killsOfEach: kills }));
const cancelled: number[] = [];
for (let tree = 0; tree < cancels; tree++) cancelled.push((await cancelTree(server)).tookMs);
report(`${cancels} trees, cancelled`, cancelled);
if (Math.max(...cancelled) > 1_000) process.exitCode = 1;

function report(name: string, took: readonly number[]): void {
  print([name, median(took), atPercent(took, 95), Math.max(...took)]);
}
