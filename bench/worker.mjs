// One process per row, idle until it receives a batch.
import * as m from "./mock.mjs";
import { silence } from "./silence.mjs";

silence();
const { name, setup } = await import(`./peers/${process.argv[2]}/adapter.mjs`);
const workloads = await setup();

const commands = {
  /** Runs a workload the given number of times and returns its duration; after a forced collection if requested. */
  async run({ workload, times, collects }) {
    m.resetCounters();
    if (collects) globalThis.gc();
    const cpu = process.cpuUsage();
    const began = performance.now();
    let text;
    for (let time = 0; time < times; time++) text = await workloads[workload]();
    const wallUs = (performance.now() - began) * 1000;
    const { user, system } = process.cpuUsage(cpu);
    return { wallUs, cpuUs: user + system, isDone: m.isDone(workload, times, text) };
  },
  async exit() {
    process.exit(0);
  },
};

process.on("message", async (message) => {
  try {
    process.send(await commands[message.command](message));
  } catch (error) {
    process.send({ error: String(error?.stack ?? error).slice(0, 600) });
  }
});
process.send({ name });
