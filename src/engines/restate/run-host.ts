import {
  type Context,
  type HooksProvider,
  RestateError,
  RetryableError,
  type ServiceDefinition,
  handlers,
  service,
} from "@restatedev/restate-sdk";
import { type EngineProgram, type Json, ReeveError, type RunLaunch } from "#kernel";
import type { Admin } from "./admin.ts";
import { retry } from "./business-error.ts";
import type { HandlerSettings } from "./handler-settings.ts";
import type { KeptSteps } from "./kept-steps.ts";
import type { OpenExecutions } from "./open-executions.ts";
import type { ReplayFuzz } from "./replay-fuzz.ts";
import { type Gate, RunPrimitives } from "./run-primitives.ts";
import { type ServiceNames, runHandler } from "./service-names.ts";

const journalMismatch = 570;

/** What runs are hosted with. */
export interface RunHostOptions {
  readonly settings: HandlerSettings;
  readonly names: ServiceNames;
  readonly admin: Admin;
  readonly ingress: Gate;
  readonly kept: KeptSteps;
  readonly executions: OpenExecutions;
  readonly fuzz: ReplayFuzz | null;
}

/** Hosts the executions of runs as a Restate service. Whatever `program.run` throws is retried from the journal. */
export function runHost(
  program: EngineProgram,
  { settings, names, admin, ingress, kept, executions, fuzz }: RunHostOptions,
): ServiceDefinition<string, unknown> {
  // Never none: what a journal holds must not depend on a setting.
  const heartbeatMs = Math.floor(settings.inactivityTimeout / 3) || 20_000;
  const execute = async (restate: Context, launch: RunLaunch): Promise<Json> => {
    const { id, attemptCompletedSignal } = restate.request();
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
    const primitives = new RunPrimitives({ launch, restate, names, ingress, held, heartbeatMs, goesOn });
    await Promise.race([program.run(primitives).catch(retry), thrownAway]);
    attemptCompletedSignal.removeEventListener("abort", lost);
    held.ended();
    executions.end();
    fuzz?.ended(id);
    return null;
  };
  return service({
    name: names.run,
    handlers: { [runHandler]: handlers.handler({}, execute) },
    options: {
      ...settings,
      ingressPrivate: true,
      explicitCancellation: true,
      onJournalMismatchErrors: "pause",
      hooks: [pauseDiverged(admin)],
    },
  });
}

/**
 * Stops an execution that asks for something else than its journal holds, whoever noticed it. Restate's own option
 * for that needs a protocol that servers up to 1.7 speak only as an experiment: without it they retry for ever.
 */
function pauseDiverged(admin: Admin): HooksProvider {
  return ({ request }) => ({
    interceptor: {
      handler: async (next) => {
        try {
          await next();
        } catch (error) {
          if (hasDiverged(error)) void admin.pause(request.id).catch(() => {}); // The next attempt tries again.
          throw error;
        }
      },
    },
  });
}

function hasDiverged(error: unknown): boolean {
  if (error instanceof RestateError) return error.code === journalMismatch;
  return ReeveError.is(error) && error.code === "replay-divergence";
}
