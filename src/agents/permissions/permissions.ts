import type { PermissionRequest, Permissions, Verdict } from "#kernel";

/** The policy of the first day: what is safe runs, what is not needs somebody's word. */
export const defaultPermissions: Permissions = {
  decide: ({ risk }) => (risk === "safe" ? "allow" : "ask"),
};

/** Lets everything run. Explicit, because it is a decision, and audited with every run. */
export const allowAll: Permissions = { decide: () => "allow", allowsAll: true };

const verdicts: ReadonlySet<unknown> = new Set<Verdict>(["allow", "ask", "deny"]);

/** What a policy says, where anything but a clear word is a no. */
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
