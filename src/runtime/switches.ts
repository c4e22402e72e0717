import { randomUUID } from "node:crypto";
import { AgentId, Json, NotFoundError, TenantId, type Agent, type Engine } from "#kernel";
import { toDisabledError, type SwitchCache } from "#run";
import {
  switchesAddress,
  withProtocol,
  type SetSwitchArgument,
  type SwitchKind,
  type SwitchesReply,
} from "#tree";

/** The subject of a switch: a tenant; or an agent or a tool, for one tenant or for all. */
export type SwitchTarget =
  | { readonly tenant: string; readonly agent?: undefined; readonly tool?: undefined }
  | {
      /** The name of the agent. */
      readonly agent: string;
      /** Default: all tenants, and trees without one. */
      readonly tenant?: string | undefined;
      readonly tool?: undefined;
    }
  | {
      /** The name of the tool. */
      readonly tool: string;
      /** Default: all tenants, and trees without one. */
      readonly tenant?: string | undefined;
      readonly agent?: undefined;
    };

/** A disabled subject. */
export interface SwitchView {
  readonly kind: SwitchKind;
  /** The tenant's id, or the name of the agent or tool. */
  readonly name: string;
  /** The tenant for which it is disabled. Null: all tenants. */
  readonly tenant: string | null;
  readonly reason: string | null;
  /** The caller who disabled it. Null: the program itself. */
  readonly by: string | null;
  /** Time of the change, in milliseconds since 1970. */
  readonly at: number;
}

/** Options of a disable. */
export interface DisableOptions {
  /**
   * At most 500 characters. Shown to callers, to the model whose tool call is refused, and in the audit. Default: none.
   */
  readonly reason?: string | undefined;
  /** The caller, for the audit. Default: none. */
  readonly by?: string | undefined;
}

/** The dependencies of {@link Switches}. */
interface SwitchDeps {
  readonly engine: Engine;
  readonly cache: SwitchCache;
  readonly hasAgent: (type: string) => boolean;
}

const maxReasonLength = 500;

/** Disables tenants, agents and tools, and enables them again. */
export class Switches {
  readonly #deps: SwitchDeps;

  constructor(deps: SwitchDeps) {
    this.#deps = deps;
  }

  /**
   * Disables a tenant, an agent or a tool, on all workers within a second and until it is enabled. Starts throw a
   * DisabledError. Runs of a disabled agent or tenant are held before their next step and lose nothing. Calls of a
   * disabled tool give the model an error. @throws NotFoundError for an agent that the program does not have.
   */
  async disable(target: SwitchTarget, { reason, by }: DisableOptions = {}): Promise<void> {
    const { agent } = target;
    if (agent !== undefined && !this.#deps.hasAgent(agent))
      throw new NotFoundError({ what: "agent", id: agent });
    if (reason !== undefined && reason.length > maxReasonLength)
      throw new RangeError(`reason must have at most ${maxReasonLength} characters, got ${reason.length}`);
    await this.#set(target, { isDisabled: true, reason: reason ?? null, by: by ?? null });
  }

  /** Enables it again: held runs resume. Returns whether it was disabled. */
  enable(target: SwitchTarget, { by }: Pick<DisableOptions, "by"> = {}): Promise<boolean> {
    return this.#set(target, { isDisabled: false, reason: null, by: by ?? null });
  }

  /** Lists the disabled subjects of a tenant, oldest first. Default: those disabled for all tenants. */
  async list({ tenant }: { readonly tenant?: string | undefined } = {}): Promise<readonly SwitchView[]> {
    const address = switchesAddress(toTenant(tenant));
    const { switches } = Json.as<SwitchesReply>(
      await this.#deps.engine.call(address, "read", withProtocol(null)),
    );
    return switches.map(({ kind, name, reason, by, at }) => ({
      kind,
      name,
      tenant: tenant ?? null,
      reason,
      by,
      at,
    }));
  }

  /** Checks whether a tree of this agent may start. @throws DisabledError */
  async check(agent: Agent<unknown>, tenant: string | undefined): Promise<void> {
    const { engine, cache } = this.#deps;
    const subject = { tenantId: toTenant(tenant), agent: AgentId.type(agent.id) };
    const found = await cache.find((...call) => engine.call(...call), subject);
    if (found) throw toDisabledError(found);
  }

  async #set(
    target: SwitchTarget,
    change: Pick<SetSwitchArgument, "isDisabled" | "reason" | "by">,
  ): Promise<boolean> {
    const { engine, cache } = this.#deps;
    const tenantId = toTenant(target.tenant);
    const argument: SetSwitchArgument = { ...toName(target), ...change, operationId: randomUUID() };
    const isChanged = await engine.call(switchesAddress(tenantId), "set", withProtocol(argument));
    cache.forget(tenantId);
    return isChanged === true;
  }
}

const toTenant = (tenant: string | undefined): TenantId | null =>
  tenant === undefined ? null : TenantId.of(tenant);

/** Converts a target to its switch. @throws TypeError on an invalid target. */
function toName({ tenant, agent, tool }: SwitchTarget): Pick<SetSwitchArgument, "kind" | "name"> {
  if (agent !== undefined && tool !== undefined)
    throw new TypeError("a switch names an agent or a tool, not both");
  if (agent !== undefined) return { kind: "agent", name: AgentId.type(AgentId.of(agent)) };
  if (tool !== undefined) return { kind: "tool", name: AgentId.type(AgentId.of(tool)) };
  if (tenant === undefined)
    throw new TypeError("a switch names a tenant, an agent or a tool: { agent: name }");
  return { kind: "tenant", name: TenantId.of(tenant) };
}
