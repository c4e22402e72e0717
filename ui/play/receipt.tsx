import type { ReactNode } from "react";
import { allAgents, exactUsd, reasonText, type TreeView } from "#view";
import { countText, span } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { typeOf } from "../run/tree-rows.ts";

/** The receipt of a tree that has ended: each agent, its own cost, and why it stopped. */
export function Receipt({ tree }: { readonly tree: TreeView }): ReactNode {
  const { root, counts } = tree;
  const limit = tree.limits?.maxCostMicros ?? null;
  return (
    <table className="receipt">
      <caption>Receipt</caption>
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col">Calls</th>
          <th scope="col">Own cost</th>
          <th scope="col">Stopped by</th>
        </tr>
      </thead>
      <tbody>
        {[...allAgents(root)].map((agent) => (
          <tr key={agent.runId}>
            <th scope="row">
              <StatusMark status={agent.status} markOnly /> <InertText text={typeOf(agent)} />
            </th>
            <td>{agent.own.calls}</td>
            <td>{exactUsd(agent.own.costMicros)}</td>
            <td>{agent.end ? reasonText(agent.end.stopReason) : ""}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Total</th>
          <td>{counts.calls}</td>
          <td>{exactUsd(root.costMicros)}</td>
          <td>
            {limit === null ? "" : `of ${exactUsd(limit)}, `}
            {countText(counts.agents, "agent")}, {span(root.end?.durationMs ?? 0)}
          </td>
        </tr>
        {root.inDoubtMicros > 0 && (
          <tr>
            <th scope="row">In doubt</th>
            <td />
            <td>{exactUsd(root.inDoubtMicros)}</td>
            <td>part of the total: the outcome of a call is not known, so it is booked at its ceiling</td>
          </tr>
        )}
      </tfoot>
    </table>
  );
}
