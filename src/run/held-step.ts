import {
  AgentId,
  DisabledError,
  type ExecutionPrimitives,
  type RunScope,
  type StepIo,
  type Tool,
} from "#kernel";
import { withProtocol } from "#tree";
import type { FoundSwitch, SwitchCache } from "./switch-cache.ts";

/** The services that are needed to check the switches of a run. */
interface SwitchedServices {
  readonly engine: { readonly primitives: ExecutionPrimitives; readonly switches: SwitchCache };
  readonly identity: { readonly scope: RunScope; readonly agentId: AgentId };
}

/**
 * Checks, at the beginning of a step, whether the run's tenant or agent is disabled. If so, asks the tree to hold the
 * run. Returns whether it is held: then the step must end as `paused`. Not a promise while nothing is disabled.
 */
export function holdIfDisabled(services: SwitchedServices, io: StepIo): Promise<boolean> | false {
  const { engine, identity } = services;
  const subject = { tenantId: identity.scope.tenantId, agent: AgentId.type(identity.agentId) };
  const finding = engine.switches.find(io.call, subject);
  return finding !== null && finding.then((found) => found !== null && holdStep(services, io, found));
}

async function holdStep(
  { engine: { primitives } }: SwitchedServices,
  io: StepIo,
  { kind, name, object }: FoundSwitch,
): Promise<boolean> {
  const { launch } = primitives;
  const argument = { run: launch.runId, kind, name, object, at: primitives.now() };
  return (await io.call(launch.tree, "holdDisabled", withProtocol(argument, launch))) === true;
}

/** Checks, inside a step, whether a tool is disabled. Returns the refusal for the model. Null: it may be called. */
export function refuseDisabledTool(
  { engine, identity }: SwitchedServices,
  io: StepIo,
  { name: tool }: Pick<Tool, "name">,
): Promise<string | null> | null {
  const finding = engine.switches.find(io.call, { tenantId: identity.scope.tenantId, tool });
  return finding && finding.then((found) => found && `not called: ${toDisabledError(found).message}`);
}

/** Returns the error for a start or a call that a switch refuses. */
export function toDisabledError({ kind: what, name: id, reason }: FoundSwitch): DisabledError {
  return new DisabledError({ what, id, reason });
}
