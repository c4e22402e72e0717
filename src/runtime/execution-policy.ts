import type { Approver, Guardrail, Permissions } from "#kernel";
import { allowAll, defaultPermissions } from "#agents";
import { ignoreErrors } from "./ignore-errors.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

/** One day. */
export const defaultEraseAfterS = 86_400;

/** The rules of a runtime that apply to each of its runs. */
interface ExecutionPolicy {
  readonly log: ReturnType<typeof ignoreErrors>;
  readonly permissions: Permissions;
  readonly approver: Approver | null;
  readonly guardrails: readonly Guardrail[];
  readonly record: "off" | "steps";
  readonly eraseAfterS: number;
}

/** Returns the rules of a runtime for its runs, with their defaults. */
export function executionPolicy(options: RuntimeOptions): ExecutionPolicy {
  const { log, permissions = defaultPermissions, approver, guardrails = [], record = "steps" } = options;
  const { eraseAfterS = defaultEraseAfterS } = options;
  return {
    log: ignoreErrors(log),
    permissions: permissions === "allow-all" ? allowAll : permissions,
    approver: typeof approver === "function" ? approver : null,
    guardrails,
    record,
    eraseAfterS,
  };
}
