// How long a run stands still when the worker that holds it is killed and another one is there.
import { restateServer } from "reeve/engines/restate";
import { failover } from "../../test/engines/restate/scenarios/failover.ts";
import { atPercent, median, print } from "./measure.ts";

const kills = Number(process.env["BENCH_KILLS"] ?? 20);

await using server = await restateServer();
print(["kills", "median ms", "p95 ms", "most ms"]);
const once = await failover(server, { runs: kills, killsOfEach: 1 });
report(`${kills} runs, once each`, once);
if (median(once) > 1_000 || atPercent(once, 95) > 3_000) process.exitCode = 1;
// The server's pauses between attempts grow with each: here one sees their limit.
report(`1 run, ${kills} times`, await failover(server, { runs: 1, killsOfEach: kills }));

function report(name: string, took: readonly number[]): void {
  print([name, median(took), atPercent(took, 95), Math.max(...took)]);
}
