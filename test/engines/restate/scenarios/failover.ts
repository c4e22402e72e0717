import type { RestateServer } from "reeve/engines/restate";
import { createRuntime } from "reeve";
import { restate } from "reeve/engines/restate";
import { staffOf } from "../fixtures/staff.ts";
import { Office } from "./office.ts";
import { WorkerProcess, freePort } from "./worker-process.ts";

/**
 * Kills the worker that holds a run, again and again, while another stands by on the same port. Returns how many
 * milliseconds after each kill the run's step was in hand there.
 */
export async function failover(server: RestateServer, kills: number): Promise<readonly number[]> {
  await using office = await Office.open();
  const options = { port: await freePort(), office: office.url };
  const { stepper } = staffOf();
  await using runtime = createRuntime({ agents: [stepper], engine: restate(server) });
  const workers = await Promise.all([1, 2].map(() => WorkerProcess.start(server, options)));
  try {
    const run = await runtime.start(stepper, "go");
    const took: number[] = [];
    for (let step = 1; step <= kills; step++) {
      const holder = await office.word(({ who }) => who === `step ${step}`);
      const victim = workers.findIndex(({ pid }) => pid === holder.pid);
      const began = performance.now();
      await workers[victim]?.kill();
      const next = await office.word(({ who, pid }) => who === `step ${step}` && pid !== holder.pid);
      took.push(next.at - began);
      workers[victim] = await WorkerProcess.start(server, options);
      next.answer("go on");
    }
    (await office.word(({ who }) => who === `step ${kills + 1}`)).answer("stop");
    const { status, output } = await run.result();
    if (status !== "completed" || output !== kills + 1)
      throw new Error(`${status} after ${String(output)} steps`);
    return took;
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
  }
}
