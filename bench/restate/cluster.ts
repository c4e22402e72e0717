// Three Restate nodes, each piece of data on two of them; one is killed under load. Is a run lost, or does a client see
// an error? Clients and workers know all three addresses. The victim is the first one, which all of them use.
import { setTimeout as delay } from "node:timers/promises";
import { createRuntime } from "reeve";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { staffOf } from "../../test/engines/restate/fixtures/staff.ts";
import { freePort } from "../../test/free-port.ts";
import { WorkerProcess } from "../../test/engines/restate/scenarios/worker-process.ts";
import { atPercent, median, print } from "./measure.ts";

const lanes = Number(process.env["BENCH_LANES"] ?? 16);
const forMs = Number(process.env["BENCH_MS"] ?? 30_000);

/** All start at once: none is healthy alone. */
async function startNodes(count: number): Promise<readonly RestateServer[]> {
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const addresses = ports.map((port) => `http://127.0.0.1:${port}`);
  const node = (port: number, index: number): Promise<RestateServer> =>
    restateServer({
      partitions: 4,
      env: {
        RESTATE_NODE_NAME: `node-${index + 1}`,
        RESTATE_BIND_PORT: String(port),
        RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${port}`,
        RESTATE_AUTO_PROVISION: String(index === 0),
        RESTATE_DEFAULT_REPLICATION: "2",
        RESTATE_METADATA_CLIENT__ADDRESSES: JSON.stringify(addresses),
      },
    });
  return Promise.all(ports.map(node));
}

const nodes = await startNodes(3);
await using closing = new AsyncDisposableStack();
for (const node of nodes) closing.use(node);
const [victim, second] = nodes;
if (!victim || !second) throw new Error("no nodes");
const cluster = { ingress: nodes.map(({ ingress }) => ingress), admin: second.admin };
const port = await freePort();
for (let workers = 0; workers < 2; workers++) closing.use(await WorkerProcess.start(cluster, { port }));
const { counter } = staffOf();
await using runtime = createRuntime({ agents: [counter], engine: restate(cluster) });

await (await runtime.start(counter, "warm up")).result();

const ended: { readonly at: number; readonly took: number }[] = [];
const errors: unknown[] = [];
const ids: string[] = [];
const began = performance.now();
let killedAt = Infinity;

async function one(): Promise<void> {
  const id = `run-${ids.length}`;
  ids.push(id);
  const at = performance.now();
  try {
    const { output } = await (await runtime.start(counter, "go", { id })).result();
    if (output !== 10) throw new Error(`${id} came to ${JSON.stringify(output)}`);
    ended.push({ at: performance.now(), took: performance.now() - at });
  } catch (error) {
    errors.push(error);
  }
}

async function lane(): Promise<void> {
  while (performance.now() - began < forMs) {
    await one();
    if (killedAt === Infinity && performance.now() - began > forMs / 3) {
      killedAt = performance.now();
      await victim?.kill();
    }
  }
}

await Promise.all(Array.from({ length: lanes }, lane));
const late = delay(60_000, null, { ref: false });
const results = await Promise.all(ids.map((id) => Promise.race([runtime.run(id).result(), late])));
const lost = results.filter((result) => result?.status !== "completed").length;
const gaps = ended.slice(1).map(({ at }, index) => at - (ended[index]?.at ?? at));
const [before, after] = [true, false].map((isBefore) =>
  ended.filter(({ at }) => at < killedAt === isBefore).map(({ took }) => took),
);
print(
  ["runs of 10 steps", ids.length],
  ["lost", lost],
  ["errors that a client saw", errors.length],
  ["longest silence, ms", Math.max(...gaps)],
  ["ms of a run before", median(before ?? []), `p95 ${atPercent(before ?? [], 95).toFixed(0)}`],
  ["ms of a run after", median(after ?? []), `p95 ${atPercent(after ?? [], 95).toFixed(0)}`],
);
for (const error of errors.slice(0, 3)) console.error(error);
if (lost > 0 || errors.length > 0) process.exitCode = 1;
