// node bench/check.mjs <peer>: every workload once, with its counters.
import * as m from "./mock.mjs";

const { setup } = await import(`./peers/${process.argv[2]}/adapter.mjs`);
for (const [name, run] of Object.entries(await setup())) {
  m.resetCounters();
  const began = performance.now();
  const text = await run();
  const ms = (performance.now() - began).toFixed(1);
  console.log(name, m.isDone(name, 1, text) ? "OK" : "FAIL", `${ms} ms`, JSON.stringify(m.counters));
}
process.exit(0);
