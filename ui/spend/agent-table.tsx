import type { ReactNode } from "react";
import { count } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { exactDollars } from "./range.ts";
import type { SpendSum } from "./records.ts";

interface AgentRow {
  readonly agent: string;
  readonly model: string;
  readonly spentMicros: number;
  readonly runs: number;
  readonly stopped: number;
}

/** One row for an agent, from sums by agent and model. */
function rowsOf(items: readonly SpendSum[]): readonly AgentRow[] {
  const byAgent = Map.groupBy(items, ({ agent = "" }) => agent);
  const rows = [...byAgent].map(([agent, sums]) => {
    const sumOf = (figure: "settledMicros" | "inDoubtMicros" | "runs" | "stopped"): number =>
      sums.reduce((sum, each) => sum + each[figure], 0);
    const dearest = sums.toSorted((a, b) => b.settledMicros - a.settledMicros).find(({ calls }) => calls > 0);
    const spentMicros = sumOf("settledMicros") + sumOf("inDoubtMicros");
    return {
      agent,
      model: dearest?.model ?? "",
      spentMicros,
      runs: sumOf("runs"),
      stopped: sumOf("stopped"),
    };
  });
  return rows.toSorted((a, b) => b.spentMicros - a.spentMicros);
}

/** Money by agent: the sum, the cost of one run, and how often a budget stopped it. */
export function AgentTable({ items }: { readonly items: readonly SpendSum[] }): ReactNode {
  const rows = rowsOf(items);
  const most = Math.max(1, ...rows.map(({ spentMicros }) => spentMicros));
  return (
    <section className="card" aria-label="By agent">
      <table className="by-agent">
        <thead>
          <tr>
            <th>Agent</th>
            <th>Main model</th>
            <th className="r">Spent</th>
            <th>
              <span className="for-readers">Share</span>
            </th>
            <th className="r">Runs</th>
            <th className="r">A run</th>
            <th className="r">Stopped by budget</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.agent}>
              <td className="el">
                <b>
                  <InertText text={row.agent} />
                </b>
              </td>
              <td className="sub el">
                <InertText text={row.model} />
              </td>
              <td className="r">{exactDollars(row.spentMicros)}</td>
              <td>
                <span className="share" aria-hidden="true">
                  <i style={{ width: `${(100 * row.spentMicros) / most}%` }} />
                </span>
              </td>
              <td className="r">{count(row.runs)}</td>
              <td className="r">
                {row.runs === 0 ? "–" : exactDollars(Math.round(row.spentMicros / row.runs))}
              </td>
              <td className={row.stopped === 0 ? "r muted" : "r"}>
                {row.stopped === 0 ? "–" : count(row.stopped)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
