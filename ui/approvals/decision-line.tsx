import type { ReactNode } from "react";
import type { ApprovalRecord } from "../api/records.ts";
import { clockTime } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";

/** Whether an approval that was remembered from before answered the question. */
export const isFromMemory = ({ decision, requestedAt }: ApprovalRecord): boolean =>
  decision?.decision === "approved" && decision.at === requestedAt && decision.by !== "approver";

/** Whether the decision also approves further calls of this tool by this run. */
export const isRemembered = ({ decision }: ApprovalRecord): boolean =>
  decision?.decision === "approved" && decision.remember === true;

/** A decision with its author and time, and whether it applies to further calls. */
export function DecisionLine({ record }: { readonly record: ApprovalRecord }): ReactNode {
  const { decision, tool, agentId } = record;
  if (!decision) return null;
  return (
    <div className="settled">
      <b>
        {decision.decision} by <InertText text={decision.by} /> at {clockTime(decision.at)}
      </b>
      {isFromMemory(record) && <p>Approved by a remembered decision: no person saw this call.</p>}
      {isRemembered(record) && (
        <p>
          Remembered: every further call of <InertText text={tool} /> by this run of{" "}
          <InertText text={agentId} /> is approved
          {record.ruleOfTwo ? "" : ", unless untrusted and private content meet"}.
        </p>
      )}
      {decision.reason !== undefined && (
        <p>
          The model was told: <InertText text={decision.reason} />
        </p>
      )}
      {decision.arguments !== undefined && decision.arguments !== null && !record.asks && (
        <pre className="text">
          <InertText text={JSON.stringify(decision.arguments, null, 2)} />
        </pre>
      )}
    </div>
  );
}
