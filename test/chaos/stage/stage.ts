import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { restateServer, type RestateServer } from "reeve/engines/restate";
import {
  ProviderMessage,
  type ProviderRequest,
  commandScript,
  fakeProvider,
  type Fault,
  type FaultKind,
  type FakeProvider,
} from "reeve/testing";
import { chance, digest } from "../../../src/testing/fake-provider/chance.ts";
import { postgresServer, type PostgresServer } from "../../stores/postgres-server.ts";
import { EffectSink } from "../witness/effect-sink.ts";

/** The environment of a campaign. The witnesses live here, in the process of the campaign; workers do not. */
export interface Stage extends AsyncDisposable {
  /** Folder of Restate's files, and of the workers' logs and traces. */
  readonly folder: string;
  readonly database: string;
  readonly double: FakeProvider;
  readonly sink: EffectSink;
  readonly restate: RestateServer;
  readonly postgres: PostgresServer;
}

/** Options of a stage. */
export interface StageOptions {
  readonly seed: string;
  /** Probability of a failing model call, from 0 to 1. */
  readonly providerFaults: number;
  /** The faults of failing calls. Default: half refused, half billed and lost or garbled. */
  readonly mishaps?: readonly (Fault | FaultKind)[];
  /** Milliseconds an effect may take. Default: 60. */
  readonly effectMs?: number;
}

/** Refusals of a provider: reported, and not billed. */
export const refusals: readonly (Fault | FaultKind)[] = [
  { kind: "rate-limit", retryAfterMs: 60 },
  "overloaded",
  "server-error",
];

const anything: readonly (Fault | FaultKind)[] = [
  ...refusals,
  "cut",
  "executed-then-reset",
  "malformed-body",
  "missing-usage",
  "absurd-usage",
];

/** Sets a stage: a provider, a sink, a Restate server and a PostgreSQL server. */
export async function openStage(options: StageOptions): Promise<Stage> {
  process.env["REEVE_KEY"] ??= randomBytes(32).toString("base64");
  const { seed, providerFaults: rate, mishaps: kinds = anything, effectMs = 60 } = options;
  const folder = await mkdtemp(join(tmpdir(), "reeve-chaos-"));
  const stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const double = stack.use(
    await fakeProvider({
      script: commandScript(),
      seed: Number.parseInt(digest(seed).slice(0, 6), 16),
      latency: (request) => latency(seed, request),
      faults: { rate, kinds },
    }),
  );
  const sink = stack.use(await EffectSink.open(seed, effectMs));
  const postgres = stack.use(await postgresServer());
  const restate = stack.use(await restateServer({ baseDir: join(folder, "restate"), env: readableFiles }));
  const database = await postgres.database();
  const stage = { folder, database, double, sink, restate, postgres };
  return { ...stage, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Compressed files would hide the searched words. */
const readableFiles = {
  RESTATE_ROCKSDB_DISABLE_WAL_COMPRESSION: "true",
  RESTATE_ROCKSDB_DISABLE_L0_L1_COMPRESSION: "true",
};

/** A call about this is not answered before its worker dies. */
export const slowly = "slowly";

/** Mostly short, sometimes long enough for a kill to hit it. */
function latency(seed: string, { body, messages }: ProviderRequest): number {
  if (messages.some((message) => ProviderMessage.text(message).startsWith(slowly))) return 600_000;
  const dice = chance(`${seed} ${JSON.stringify(body["messages"]).length}`);
  return dice.fraction() < 0.2 ? dice.integer(150, 500) : dice.integer(10, 100);
}
