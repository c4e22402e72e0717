import type { PermissionRequest, Permissions, Verdict } from "#kernel";

/** The default policy: safe calls run, all other calls require approval. */
export const defaultPermissions: Permissions = {
  decide: ({ risk }) => (risk === "safe" ? "allow" : "ask"),
};

/** Allows every call. It must be chosen explicitly, and is audited with every run. */
export const allowAll: Permissions = { decide: () => "allow", allowsAll: true };

const verdicts: ReadonlySet<unknown> = new Set<Verdict>(["allow", "ask", "deny"]);

/** Returns a policy's decision. Anything but a valid decision is a denial. */
export function verdictOf(permissions: Permissions, request: PermissionRequest): Verdict | Promise<Verdict> {
  try {
    const said = permissions.decide(request);
    return typeof said === "string" ? clear(said) : Promise.resolve(said).then(clear, no);
  } catch {
    return "deny";
  }
}

const clear = (said: Verdict): Verdict => (verdicts.has(said) ? said : "deny");
const no = (): Verdict => "deny";
