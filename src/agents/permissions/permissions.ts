import type { PermissionRequest, Permissions, PermissionDecision } from "#kernel";

/** The default policy: safe calls run, all other calls require approval. */
export const defaultPermissions: Permissions = {
  decide: ({ risk }) => (risk === "safe" ? "allow" : "ask"),
};

/** Allows every call. It must be chosen explicitly, and is audited with every run. */
export const allowAll: Permissions = { decide: () => "allow", allowsAll: true };

const verdicts: ReadonlySet<unknown> = new Set<PermissionDecision>(["allow", "ask", "deny"]);

/** Returns a policy's decision. Anything but a valid decision is a denial. */
export function decidePermission(
  permissions: Permissions,
  request: PermissionRequest,
): PermissionDecision | Promise<PermissionDecision> {
  try {
    const said = permissions.decide(request);
    return typeof said === "string" ? toDecision(said) : Promise.resolve(said).then(toDecision, deny);
  } catch {
    return "deny";
  }
}

const toDecision = (said: PermissionDecision): PermissionDecision => (verdicts.has(said) ? said : "deny");
const deny = (): PermissionDecision => "deny";
