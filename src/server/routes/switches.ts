import type { SwitchTarget } from "#runtime";
import { whose, type Principal } from "../auth.ts";
import { toJsonResponse, type Route, route } from "../route.ts";
import { refuseRequest, shape } from "../shape.ts";

const target = {
  kind: shape.oneOf(["tool", "agent", "tenant"]),
  /** The name of the agent or tool. None for the tenant, which follows from the key. */
  name: shape.optional(shape.line()),
} as const;

interface NamedTarget {
  readonly kind: "tool" | "agent" | "tenant";
  readonly name?: string;
}

/**
 * Returns the target of a switch: the caller's tenant, or an agent or tool within it. A key without a tenant belongs to
 * an operator: it switches agents and tools for all tenants. @throws HttpError
 */
function toSwitchTarget(principal: Principal, { kind, name }: NamedTarget): SwitchTarget {
  const { tenant } = principal;
  if (kind === "tenant") {
    if (tenant === null) refuseRequest("key", "has no tenant");
    if (name !== undefined) refuseRequest("body.name", "must be omitted: the key determines the tenant");
    return { tenant };
  }
  if (name === undefined) refuseRequest("body.name", `must be the name of the ${kind}`);
  return kind === "agent" ? { ...whose(principal), agent: name } : { ...whose(principal), tool: name };
}

export const switchRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/switches",
    scope: "admin",
    pool: "calls",
    summary: "Disabled agents and tools of the tenant; for a key without a tenant, of all tenants",
    handle: async ({ host, principal }) =>
      toJsonResponse({ items: await host.runtime.switches.list(whose(principal)) }),
  }),
  route({
    method: "post",
    path: "/switches/disable",
    scope: "admin",
    pool: "control",
    summary: "Disable the tenant, an agent or a tool until it is enabled again",
    body: shape.object({ ...target, reason: shape.optional(shape.text({ max: 500 })) }),
    handle: async ({ host, principal, body }) => {
      const { reason } = body;
      await host.runtime.switches.disable(toSwitchTarget(principal, body), {
        by: principal.id,
        ...(reason !== undefined && { reason }),
      });
      return toJsonResponse({});
    },
  }),
  route({
    method: "post",
    path: "/switches/enable",
    scope: "admin",
    pool: "control",
    summary: "Enable the tenant, an agent or a tool: held runs continue",
    body: shape.object(target),
    handle: async ({ host, principal, body }) => {
      const wasDisabled = await host.runtime.switches.enable(toSwitchTarget(principal, body), {
        by: principal.id,
      });
      return toJsonResponse({ wasDisabled });
    },
  }),
];
