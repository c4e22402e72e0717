import { memo, type ReactNode, useRef } from "react";
import { Link } from "wouter";
import { reasonText } from "#view";
import { segment } from "../api/http.ts";
import type { ApprovalRecord, RunRecord } from "../api/records.ts";
import { Ago } from "../parts/ago.tsx";
import { span } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { MoneyCell } from "../parts/spend-bar.tsx";
import { type ShownStatus, StatusMark } from "../parts/status-mark.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useNow } from "../parts/use-now.ts";

/** The trees of a list, one in a row. J and K move between them. */
export function RunsTable({
  runs,
  pending,
}: {
  readonly runs: readonly RunRecord[];
  readonly pending: readonly ApprovalRecord[];
}): ReactNode {
  const body = useRef<HTMLTableSectionElement>(null);
  const move = (step: number): void => {
    const links = [...(body.current?.querySelectorAll<HTMLAnchorElement>("a[data-run]") ?? [])];
    const at = links.findIndex((link) => link === document.activeElement);
    links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
  };
  useKeys({ j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1) });
  return (
    <table className="runs">
      <thead>
        <tr>
          <th className="c-status">Status</th>
          <th>Task</th>
          <th className="c-agent">Agent</th>
          <th className="c-alive r">Alive</th>
          <th className="c-money">Spent, reserved, cap</th>
          <th className="c-why">Waiting for, or stop reason</th>
          <th className="c-age r">Age</th>
        </tr>
      </thead>
      <tbody ref={body}>
        {runs.map((run) => (
          <Row key={run.runId} run={run} asks={pending.filter(({ treeId }) => treeId === run.treeId)} />
        ))}
      </tbody>
    </table>
  );
}

const Row = memo(RunRow, (a, b) => JSON.stringify(a) === JSON.stringify(b));

function RunRow({
  run,
  asks,
}: {
  readonly run: RunRecord;
  readonly asks: readonly ApprovalRecord[];
}): ReactNode {
  const hasEnded = run.endedAt !== null;
  const status: ShownStatus = asks.length > 0 && !hasEnded ? "needs you" : run.status;
  const { inDoubtMicros, reservedMicros, maxCostMicros } = run;
  const spend = {
    settledMicros: run.costMicros - inDoubtMicros,
    inDoubtMicros,
    reservedMicros,
    maxCostMicros,
  };
  return (
    <tr>
      <td>
        <StatusMark status={status} />
      </td>
      <td>
        <div className="t">
          <Link href={`/runs/${segment(run.treeId)}`} className="el" data-run="">
            <InertText text={run.name ?? run.treeId} />
          </Link>
          {run.name !== null && <span className="mono muted">{run.treeId}</span>}
        </div>
      </td>
      <td className="sub el">
        <InertText text={run.agentId} />
      </td>
      <td className="r">
        <Alive run={run} />
      </td>
      <td className="m">
        <MoneyCell spend={spend} ended={hasEnded} withoutLimit="–" />
      </td>
      <td className="why sub el">
        <Reason run={run} asks={asks} />
      </td>
      <td className="r muted nw">
        {run.endedAt === null ? <Ago at={run.startedAt} /> : <Ago at={run.endedAt} suffix=" ago" />}
      </td>
    </tr>
  );
}

function Alive({ run: { agents, liveAgents, endedAt } }: { readonly run: RunRecord }): ReactNode {
  if (agents === null) return <span className="muted">–</span>;
  if (endedAt !== null) return <span className="muted">{agents}</span>;
  return (
    <>
      <b>{liveAgents}</b>
      <span className="muted"> / {agents}</span>
    </>
  );
}

function Reason({
  run,
  asks,
}: {
  readonly run: RunRecord;
  readonly asks: readonly ApprovalRecord[];
}): ReactNode {
  const now = useNow();
  const [oldest] = asks;
  if (run.endedAt !== null) return run.stopReason === null ? "" : reasonText(run.stopReason);
  if (!oldest) return run.status === "running" ? "" : run.status;
  const since = span(now - oldest.requestedAt);
  const verb = oldest.asks ? "asks a question" : `asks for ${oldest.tool}`;
  return (
    <span className="asks">
      <InertText
        text={
          asks.length === 1
            ? `${oldest.agentId} ${verb}, ${since}`
            : `${asks.length} questions, oldest ${since}`
        }
      />
    </span>
  );
}
