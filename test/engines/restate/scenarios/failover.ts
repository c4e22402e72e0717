import { type Runtime, createRuntime } from "reeve";
import { type RestateServer, restate } from "reeve/engines/restate";
import { staffOf } from "../fixtures/staff.ts";
import { Office } from "./office.ts";
import { freePort } from "../../../free-port.ts";
import { startStopwatch } from "../../../lost-time.ts";
import { WorkerProcess } from "./worker-process.ts";

const { stepper } = staffOf();

/** Number of consecutive runs, and how often each loses its worker. */
export interface FailoverOptions {
  readonly runs: number;
  readonly killsOfEach: number;
}

/**
 * Kills the worker of a run, inside a step, while another one is on standby on the same port. Returns for each kill the
 * milliseconds until the step ran there, less the time the machine lost.
 */
export async function failover(
  server: RestateServer,
  { runs, killsOfEach }: FailoverOptions,
): Promise<readonly number[]> {
  const port = await freePort();
  await using runtime = createRuntime({ agents: [stepper], engine: restate(server) });
  const took: number[] = [];
  await using pair = await Pair.start(server, port);
  for (let run = 0; run < runs; run++) took.push(...(await killsOfOne(runtime, pair, killsOfEach)));
  return took;
}

/** Kills one run's worker so many times, then lets it end. */
async function killsOfOne(runtime: Runtime, pair: Pair, kills: number): Promise<readonly number[]> {
  const { office } = pair;
  office.words.length = 0;
  const run = await runtime.start(stepper, "go");
  const took: number[] = [];
  for (let step = 1; step <= kills; step++) {
    const holder = await office.word(({ who }) => who === `step ${step}`);
    const elapsed = startStopwatch();
    await pair.kill(holder.pid);
    const next = await office.word(({ who, pid }) => who === `step ${step}` && pid !== holder.pid);
    took.push(elapsed());
    await pair.replace();
    next.answer("go on");
  }
  (await office.word(({ who }) => who === `step ${kills + 1}`)).answer("stop");
  const { status, output } = await run.result();
  if (status !== "completed" || output !== kills + 1)
    throw new Error(`${status} after ${JSON.stringify(output)} steps`);
  return took;
}

/** Two workers on one port. */
class Pair implements AsyncDisposable {
  readonly office: Office;
  readonly #start: () => Promise<WorkerProcess>;
  #workers: readonly WorkerProcess[] = [];

  private constructor(office: Office, start: () => Promise<WorkerProcess>) {
    this.office = office;
    this.#start = start;
  }

  static async start(server: RestateServer, port: number): Promise<Pair> {
    const office = await Office.open();
    const pair = new Pair(office, () => WorkerProcess.start(server, { port, office: office.url }));
    pair.#workers = await Promise.all([pair.#start(), pair.#start()]);
    return pair;
  }

  async kill(pid: number): Promise<void> {
    await this.#workers.find((worker) => worker.pid === pid)?.kill();
    this.#workers = this.#workers.filter((worker) => worker.pid !== pid);
  }

  async replace(): Promise<void> {
    this.#workers = [...this.#workers, await this.#start()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    await this.office[Symbol.asyncDispose]();
  }
}
