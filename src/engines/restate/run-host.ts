import {
  type Context,
  type HooksProvider,
  type Request,
  RestateError,
  RetryableError,
  type ServiceDefinition,
  handlers,
  serde,
  service,
} from "@restatedev/restate-sdk";
import { type EngineProgram, Json, KeyDestroyedError, ReeveError, type RunLaunch } from "#kernel";
import type { Seals } from "#sealing";
import type { Admin } from "./admin.ts";
import { retry } from "./business-error.ts";
import { CallSeals } from "./call-seals.ts";
import type { HandlerSettings } from "./handler-settings.ts";
import type { KeptSteps } from "./kept-steps.ts";
import type { OpenExecutions } from "./open-executions.ts";
import type { ReplayFuzz } from "./replay-fuzz.ts";
import { type Gate, RunPrimitives } from "./run-primitives.ts";
import { opened } from "./sealed-serde.ts";
import { type Blobs, StepResults } from "./step-results.ts";
import { type ServiceNames, partitionHeader, runHandler } from "./service-names.ts";

const journalMismatch = 570;
const nothing = new Uint8Array();
/** As long as Restate keeps the journal of a run that has ended, by default. */
const keptMs = 24 * 60 * 60_000;

/** What runs are hosted with. */
export interface RunHostOptions {
  readonly settings: HandlerSettings;
  readonly names: ServiceNames;
  readonly seals: Seals;
  readonly admin: Admin;
  readonly ingress: Gate;
  /** Where large results lie. */
  readonly blobs: Blobs;
  readonly kept: KeptSteps;
  readonly executions: OpenExecutions;
  readonly fuzz: ReplayFuzz | null;
}

/** Hosts the executions of runs as a Restate service. Whatever `program.run` throws is retried from the journal. */
export function runHost(program: EngineProgram, host: RunHostOptions): ServiceDefinition<string, unknown> {
  const { settings, names, admin } = host;
  const run = (restate: Context, input: Uint8Array): Promise<void> => execute(program, host, restate, input);
  return service({
    name: names.run,
    handlers: { [runHandler]: handlers.handler({ input: serde.binary, output: serde.empty }, run) },
    options: {
      ...settings,
      ingressPrivate: true,
      explicitCancellation: true,
      onJournalMismatchErrors: "pause",
      hooks: [stopLost(admin)],
    },
  });
}

async function execute(
  program: EngineProgram,
  host: RunHostOptions,
  restate: Context,
  input: Uint8Array,
): Promise<void> {
  const { settings, names, seals, ingress, blobs, kept, executions, fuzz } = host;
  // Never none: what a journal holds must not depend on a setting.
  const heartbeatMs = Math.floor(settings.inactivityTimeout / 3) || 20_000;
  const { id, headers, attemptCompletedSignal } = restate.request();
  const partition = headers.get(partitionHeader) ?? "";
  const seal = await seals.of(partition);
  const launch = Json.as<RunLaunch>(opened(seal, input));
  const sealing = { steps: seal, calls: new CallSeals({ partition, seal, all: seals, id, input }) };
  const held = kept.attempt(id);
  const lost = (): void => held.lost();
  attemptCompletedSignal.addEventListener("abort", lost, { once: true });
  const { promise: thrownAway, reject } = Promise.withResolvers<never>();
  const throwAway = (): void => reject(new RetryableError("to be replayed", { retryAfter: 1 }));
  const leave = (): void => void held.idle().then(throwAway);
  executions.begin(id, { launch, leave }, attemptCompletedSignal);
  const goesOn = (pick: number): boolean => {
    if (!fuzz?.isNew(id, pick)) return !executions.isLeaving;
    throwAway();
    return false;
  };
  const giveUp = (reason: unknown): Promise<never> => {
    reject(reason);
    return new Promise(() => {});
  };
  const results = new StepResults({ partition, seal, blobs });
  const primitives = new RunPrimitives({
    launch,
    restate,
    names,
    sealing,
    ingress,
    held,
    heartbeatMs,
    results,
    goesOn,
    giveUp,
  });
  // An execution that has journaled nothing cannot be moved to another build, and a continuation may need to be.
  if (launch.continuation > 0) await restate.run("continued", () => undefined);
  await Promise.race([program.run(primitives).catch(retry), thrownAway]);
  for (const key of results.parts)
    restate.genericSend({ service: names.blob, key, method: "remove", parameter: nothing, delay: keptMs });
  attemptCompletedSignal.removeEventListener("abort", lost);
  held.ended();
  executions.end();
  fuzz?.ended(id);
}

/**
 * Stops an execution that asks for something else than its journal holds, whoever noticed it. Restate's own option
 * for that needs a protocol that servers up to 1.7 speak only as an experiment: without it they retry for ever. One
 * whose key was destroyed is ended: nobody can ever read its journal again.
 */
function stopLost(admin: Admin): HooksProvider {
  return ({ request }) => ({
    interceptor: {
      handler: async (next) => {
        try {
          await next();
        } catch (error) {
          // If that fails, the next attempt tries again.
          if (isErased(error, request)) void admin.kill(request.id).catch(() => {});
          else if (hasDiverged(error) || isTooLarge(error)) void admin.pause(request.id).catch(() => {});
          throw error;
        }
      },
    },
  });
}

function isErased(error: unknown, { headers }: Request): boolean {
  return error instanceof KeyDestroyedError && error.partition === headers.get(partitionHeader);
}

/** Whatever it did would be too large again. */
function isTooLarge(error: unknown): boolean {
  return ReeveError.is(error) && error.code === "too-large";
}

function hasDiverged(error: unknown): boolean {
  if (error instanceof RestateError) return error.code === journalMismatch;
  return ReeveError.is(error) && error.code === "replay-divergence";
}
