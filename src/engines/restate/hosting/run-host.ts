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
import {
  type CallObject,
  type EngineProgram,
  Json,
  KeyDestroyedError,
  ReeveError,
  type RunLaunch,
  type Seal,
  type Sealing,
} from "#kernel";
import { contentObject, ContentPort } from "#base";
import type { Admin } from "../client/admin.ts";
import { retry } from "../client/business-error.ts";
import { CallSeals } from "../sealing/call-seals.ts";
import type { HandlerSettings } from "./handler-settings.ts";
import type { InFlightSteps } from "./in-flight-steps.ts";
import type { OpenExecutions } from "./open-executions.ts";
import type { ReplayFuzz } from "./replay-fuzz.ts";
import { type Gate, RunPrimitives } from "./run-primitives.ts";
import { launchSeal, outputSeal, sealCall } from "../sealing/sealed-call.ts";
import { openJson, sealJson } from "../sealing/sealed-serde.ts";
import { StepResults } from "./step-results.ts";
import { type ServiceNames, partitionHeader, runHandler } from "../service-names.ts";

const journalMismatch = 570;
/** Restate's default retention of the journal of an ended run. */
const executionRetentionMs = 24 * 60 * 60_000;

/** The dependencies of hosted runs. */
export interface RunHostOptions {
  readonly settings: HandlerSettings;
  readonly names: ServiceNames;
  readonly seals: Sealing;
  readonly admin: Admin;
  readonly ingress: Gate;
  readonly kept: InFlightSteps;
  readonly executions: OpenExecutions;
  readonly fuzz: ReplayFuzz | null;
}

/** Hosts the executions of runs as a Restate service. Errors of `program.run` are retried from the journal. */
export function runHost(program: EngineProgram, host: RunHostOptions): ServiceDefinition<string, unknown> {
  const { settings, names, admin } = host;
  const run = (restate: Context, input: Uint8Array): Promise<Uint8Array> =>
    executeRun({ ...host, program }, restate, input);
  return service({
    name: names.run,
    handlers: { [runHandler]: handlers.handler({ input: serde.binary, output: serde.binary }, run) },
    options: {
      ...settings,
      ingressPrivate: true,
      explicitCancellation: true,
      onJournalMismatchErrors: "pause",
      hooks: [stopLost(admin)],
    },
  });
}

async function executeRun(
  host: RunHostOptions & { readonly program: EngineProgram },
  restate: Context,
  input: Uint8Array,
): Promise<Uint8Array> {
  const { program, settings, names, seals, ingress, kept, executions, fuzz } = host;
  // Never zero: the content of a journal must not depend on a setting.
  const heartbeatMs = Math.floor(settings.inactivityTimeout / 3) || 20_000;
  const { id, headers, attemptCompletedSignal } = restate.request();
  const partition = headers.get(partitionHeader) ?? "";
  const seal = await seals.getSeal(partition);
  const launch = Json.as<RunLaunch>(openJson(launchSeal(seal), input));
  const sealing = { steps: seal, calls: new CallSeals({ partition, seal, all: seals, id, input }) };
  const held = kept.attempt(id);
  const onLost = (): void => held.markLost();
  attemptCompletedSignal.addEventListener("abort", onLost, { once: true });
  const { promise: thrownAway, reject } = Promise.withResolvers<never>();
  const throwAway = (): void => reject(new RetryableError("to be replayed", { retryAfter: 1 }));
  const leave = (): void => void held.waitForIdle().then(throwAway);
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
  const callContent: CallObject = (to, method, argument) => ingress.call({ to, method, argument });
  const content = new ContentPort(callContent, partition);
  const results = new StepResults({ partition, seal, content });
  const { batchMethod } = program.objects.find(({ type }) => type === launch.tree.type) ?? {};
  const primitives = new RunPrimitives({
    launch,
    batchMethod: (launch.batchesCalls && batchMethod) || null,
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
  // An execution without journal entries cannot be moved to another build, and a continuation may need to be.
  if (launch.continuation > 0) await restate.run("continued", () => undefined);
  const returned = await Promise.race([program.run(primitives).catch(retry), thrownAway]);
  removeLater(restate, [...results.names], {
    names,
    partition,
    seal: sealing.calls.getOwnSeal("remove").lasting,
  });
  attemptCompletedSignal.removeEventListener("abort", onLost);
  held.endExecution();
  executions.end();
  fuzz?.forget(id);
  return sealJson(outputSeal(sealing.calls.getOwnSeal("output"), id), Json.of(returned ?? null));
}

/** Removes large results when the journal expires. The key of the tree may be destroyed by then. */
function removeLater(
  restate: Context,
  results: readonly string[],
  options: { readonly names: ServiceNames; readonly partition: string; readonly seal: Seal },
): void {
  if (results.length === 0) return;
  const { names, partition: key, seal } = options;
  const to = { type: contentObject.type, key };
  const method = "remove";
  const { parameter } = sealCall(seal, { to, method, argument: { names: results } });
  const message = { service: names.object(to.type), key, method, parameter, inputSerde: serde.binary };
  restate.genericSend({ ...message, delay: executionRetentionMs });
}

/**
 * Pauses an execution whose journal does not match its requests. Restate's own option for that needs a protocol that
 * servers up to 1.7 support only experimentally: without it they retry forever. An execution whose key was destroyed is
 * killed, because its journal can never be read again.
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

/** Whether an error would occur again because a value is too large. */
function isTooLarge(error: unknown): boolean {
  return ReeveError.is(error) && error.code === "too-large";
}

function hasDiverged(error: unknown): boolean {
  if (error instanceof RestateError) return error.code === journalMismatch;
  return ReeveError.is(error) && error.code === "replay-divergence";
}
