import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../free-port.ts";
import { measureLostTime } from "../lost-time.ts";
import { Client, type Played } from "./client.ts";
import { collect } from "./collect.ts";
import { faultKinds, inject, type Disturbance, type Fault } from "./faults.ts";
import type { History, Loss } from "./history.ts";
import { Crew } from "./stage/crew.ts";
import type { Stage } from "./stage/stage.ts";
import type { TreePlan } from "./workload/plan.ts";

/** Options of a campaign. */
export interface CampaignOptions {
  readonly seed: string;
  /** The trees to start, in this order. */
  readonly trees: Iterable<TreePlan>;
  /** Starts no more trees once this many runs, children included, were accepted. Default: all trees are started. */
  readonly runs?: number;
  /** Keeps campaigns on one stage apart. Default `reeve`. */
  readonly namespace?: string;
  /** Default: all kinds. */
  readonly faults?: readonly Fault["kind"][];
  /** Concurrent trees. Default: 20. */
  readonly lanes?: number;
  /** Default 3. */
  readonly workers?: number;
  /** Milliseconds until a lane continues without its tree. Default: 60,000. */
  readonly waitMs?: number;
  /** Milliseconds for trees to end after the last disturbance. Default: 60,000. */
  readonly calmMs?: number;
  /** Whether the machine may be busy with something else. Default: false. */
  readonly isMachineBusy?: boolean;
  /** More settings for the workers. */
  readonly env?: Readonly<Record<string, string>>;
  readonly progress?: (line: string) => void;
  /** Called when all trees have ended and everything was read. */
  readonly onEnd?: (client: Client, played: readonly Played[]) => Promise<void>;
}

/** The result of a campaign. */
export interface Campaign {
  readonly history: History;
  readonly seconds: number;
  readonly resumptions: number;
  readonly resumed: number;
}

/** Plays a campaign: trees under a rain of faults, then calm, then every witness is asked. */
export async function campaign(stage: Stage, options: CampaignOptions): Promise<Campaign> {
  const {
    seed,
    namespace = "reeve",
    workers = 3,
    env = {},
    calmMs = 60_000,
    isMachineBusy = false,
  } = options;
  const began = performance.now();
  const folder = join(stage.folder, `workers-${namespace}`);
  await mkdir(folder);
  const { ingress, admin } = stage.restate;
  const { double, sink, database } = stage;
  const at = { ingress, admin, port: await freePort(), namespace };
  const given = { ...at, double: double.baseURL, sink: sink.url, database, folder };
  await using crew = await Crew.open(given, { size: workers, env });
  const over = new AbortController();
  await using client = await Client.open(stage, { namespace, over: over.signal });
  // Two clients race for the turns of conversations.
  await using other = await Client.open(stage, { namespace, over: over.signal });
  const clients = [client, other] as const;
  const losses: Loss[] = [];
  const lost = measureLostTime();
  const clock = setInterval(() => losses.push({ at: Date.now(), ms: lost() }), 250);
  const { played, disturbances } = await play({ ...stage, crew }, clients, options);
  await waitAtMost(calmMs, Promise.all(played.map(({ done }) => done)));
  over.abort();
  clearInterval(clock);
  const history = await collect(stage, client, {
    seed,
    isMachineBusy,
    namespace,
    folder,
    played,
    disturbances,
    losses,
  });
  await options.onEnd?.(client, played);
  const resumptions = client.resumptions + other.resumptions;
  const resumed = client.resumed + other.resumed;
  return { history, seconds: (performance.now() - began) / 1_000, resumptions, resumed };
}

async function play(
  victims: Stage & { readonly crew: Crew },
  clients: readonly [Client, Client],
  options: CampaignOptions,
): Promise<{ readonly played: readonly Played[]; readonly disturbances: readonly Disturbance[] }> {
  const { seed, faults = faultKinds, lanes = 20, runs = Infinity, waitMs = 60_000 } = options;
  const stop = new AbortController();
  const accepted = (): number => clients[0].accepted + clients[1].accepted;
  const injected = inject(victims, { seed, kinds: faults, countRuns: accepted, stop: stop.signal });
  const report = (): void => options.progress?.(`${accepted()} runs of ${played.length} trees`);
  const clock = setInterval(report, 30_000);
  const next = options.trees[Symbol.iterator]();
  const played: Played[] = [];
  const lane = async (client: Client): Promise<void> => {
    while (accepted() < runs) {
      const { value, done } = next.next();
      if (done) return;
      const tree = await client.play(value);
      played.push(tree);
      await waitAtMost(waitMs, tree.over);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(clients[number % 2 === 0 ? 0 : 1])));
  clearInterval(clock);
  stop.abort();
  return { played, disturbances: await injected };
}

/** Resolves when the work is done, however, or after so long. */
async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  await Promise.race([work, delay(ms, undefined, { signal: limit.signal })]).catch(() => undefined);
  limit.abort();
}
