import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { clockTime } from "../parts/amounts.ts";
import { notify } from "../parts/toast.tsx";
import { ApiError, errorText, post, segment, type SettledDecision } from "./http.ts";
import type { ApprovalRecord, Json } from "./records.ts";

/** A user's decision on a question. */
export interface Decision {
  readonly verb: "approve" | "deny" | "edit";
  /** Reason, for the model and the audit. */
  readonly reason?: string;
  /** Approve every further call of this tool by this run. */
  readonly remember?: boolean;
  readonly arguments?: Json;
}

const done = { approve: "Approved", deny: "Denied", edit: "Approved with other arguments" } as const;

/** Reports that another decision came first, with its author and time. */
export const overtakenText = (
  { tool, agentId }: ApprovalRecord,
  { decision, by, at }: SettledDecision,
): string => `Too late: ${tool} of ${agentId} was ${decision} by ${by} at ${clockTime(at)}`;

const refusals: Readonly<Record<string, string>> = {
  decided: "Too late: another person has decided.",
  expired: "Too late: the question has expired.",
  "run-ended": "Too late: the run has ended.",
  "other-arguments": "Not decided: the call has changed since it was shown.",
};

/** The outcome of a decision: it counts, it does not, or another one came first. */
export type DecisionOutcome = "counts" | "refused" | { readonly overtakenBy: SettledDecision };

/** Sends a decision with the hash of the shown arguments, and reports the outcome. */
async function decide(
  queries: QueryClient,
  record: ApprovalRecord,
  decision: Decision,
): Promise<DecisionOutcome> {
  const { verb, reason, remember, arguments: edited } = decision;
  const body = {
    hash: record.hash,
    ...(reason !== undefined && reason !== "" && { reason }),
    ...(remember === true && { remember }),
    ...(edited !== undefined && { arguments: edited }),
  };
  try {
    await post(`/approvals/${segment(record.id)}/${verb}`, body);
    const what = record.asks ? (verb === "deny" ? "Declined the question" : "Answered") : done[verb];
    notify(`${what}: ${record.tool} of ${record.agentId}. This cannot be undone.`);
    return "counts";
  } catch (error) {
    if (error instanceof ApiError && error.decided) {
      notify(overtakenText(record, error.decided));
      return { overtakenBy: error.decided };
    }
    const known = error instanceof ApiError && error.reason !== null ? refusals[error.reason] : undefined;
    notify(known ?? errorText(error));
    return "refused";
  } finally {
    // Not awaited: the outcome is reported at once, even if the list cannot be read.
    void queries.invalidateQueries({ queryKey: ["approvals"] });
  }
}

/** Returns the function that decides. */
export function useDecide(): (record: ApprovalRecord, decision: Decision) => Promise<DecisionOutcome> {
  const queries = useQueryClient();
  return (record, decision) => decide(queries, record, decision);
}
