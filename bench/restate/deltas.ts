// The cost of streaming a model's answer to other processes: 2,000 pieces a second for 10 seconds.
import { restateServer } from "reeve/engines/restate";
import { Talk } from "../../test/engines/restate/scenarios/talk.ts";
import { atPercent, median, print } from "./measure.ts";

const pieces = 20_000;

await using server = await restateServer();
print([
  "readers",
  "pieces/s",
  "p50 ms",
  "p95 ms",
  "frames/s each",
  "worker CPU %",
  "readers CPU %",
  "worker MB",
]);
for (const count of [1, 10, 50]) {
  const { talk, worker } = await Talk.start(server);
  await using _ = talk;
  const readers = talk.readers(count);
  await readers.hear("heard");
  worker.order({ do: "talk", perSecond: 2_000, pieces, size: 10 });
  const { tookMs, cpuMs, rssMb } = await worker.hear("said");
  worker.order({ do: "answer" });
  const { whole, latencies, frames, cpuMs: readersMs } = await readers.hear("over");
  if (whole !== count) throw new Error(`${whole} of ${count} have heard all`);
  const perSecond = (pieces / tookMs) * 1000;
  const framesEach = (frames / count / tookMs) * 1000;
  const share = (ms: number): number => (ms / tookMs) * 100;
  print([
    count,
    perSecond,
    median(latencies),
    atPercent(latencies, 95),
    framesEach,
    share(cpuMs),
    share(readersMs),
    rssMb,
  ]);
}
