// How long a run stands still when the worker that holds it is killed and another one is there.
import { restateServer } from "reeve/engines/restate";
import { failover } from "../../test/engines/restate/scenarios/failover.ts";
import { atPercent, median, print } from "./measure.ts";

const kills = Number(process.env["BENCH_KILLS"] ?? 20);

await using server = await restateServer();
const took = await failover(server, kills);
print(["kills", "median ms", "p95 ms", "most ms"]);
print([String(kills), median(took), atPercent(took, 95), Math.max(...took)]);
if (median(took) > 1_000 || atPercent(took, 95) > 3_000) process.exitCode = 1;
