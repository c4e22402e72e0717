import { type ApprovalRecord, eraseError, type RunResult, type SentApproval, type SentResult } from "#kernel";
import { mayDo, mayReadEntries, type Principal } from "./auth.ts";

/** Returns the part of a result that a caller may read: without the scope `content`, no output and no text of an error. */
export function withholdOutput(principal: Principal, result: RunResult): SentResult {
  if (mayReadEntries(principal)) return result;
  const { error, ...rest } = result;
  return { ...rest, output: null, withheld: true, ...(error && { error: eraseError(error) }) };
}

/**
 * Returns the part of an approval that a caller may read: arguments, answers and reasons are content. Callers with the scope
 * `approve` read them, because a call must not be approved unseen.
 */
export function withholdArguments(principal: Principal, record: ApprovalRecord): SentApproval {
  if (mayReadEntries(principal) || mayDo(principal, "approve")) return record;
  const { decision, ...asked } = record;
  const withheld = { ...asked, arguments: null, withheld: true } as const;
  if (decision === null) return { ...withheld, decision };
  const { arguments: _, reason: __, ...left } = decision;
  return { ...withheld, decision: left };
}
