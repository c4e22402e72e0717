import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { reasonText } from "#view";
import { segment } from "../api/http.ts";
import { useTenant } from "../api/queries.ts";
import type { TenantAccount } from "../api/records.ts";
import { useLock } from "../api/session.tsx";
import { Ago } from "../parts/ago.tsx";
import { count, countText, limitDollars, tokens } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { SpendBar } from "../parts/spend-bar.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { useInDoubt, useStopped } from "./queries.ts";
import { exactDollars, type Period } from "./range.ts";
import type { DoubtRecord, Figures } from "./records.ts";
import { SettleDialog } from "./settle-dialog.tsx";

/** Limits now, refusals of the period, and calls in doubt. */
export function SpendSide({
  period,
  figures,
}: {
  readonly period: Period;
  readonly figures: Figures;
}): ReactNode {
  return (
    <aside className="spend-side" aria-label="Limits, refusals and calls in doubt">
      <Limits />
      <Refusals period={period} figures={figures} />
      <Doubts />
    </aside>
  );
}

const periods = { day: "today", month: "this month", ever: "ever" } as const;

function Limits(): ReactNode {
  const { data } = useTenant();
  return (
    <section className="card" aria-label="Limits now">
      <header>
        <h2>Limits now</h2>
      </header>
      {data && <BudgetRows account={data} />}
    </section>
  );
}

function BudgetRows({ account: { budget, live } }: { readonly account: TenantAccount }): ReactNode {
  return (
    <div className="lim">
      {budget?.maxCostMicros != null && (
        <div className="limit-row">
          <span>Tenant, {periods[budget.per]}</span>
          <span className="sub">
            {exactDollars(budget.spent.costMicros)} of {limitDollars(budget.maxCostMicros)}
          </span>
          <SpendBar
            big
            spend={{
              settledMicros: budget.spent.costMicros,
              reservedMicros: budget.lent.costMicros,
              inDoubtMicros: 0,
              maxCostMicros: budget.maxCostMicros,
            }}
          />
        </div>
      )}
      {budget?.maxTokens != null && (
        <div className="limit-row">
          <span>Tenant, tokens {periods[budget.per]}</span>
          <span className="sub">
            {tokens(budget.spent.tokens)} of {tokens(budget.maxTokens)}
          </span>
        </div>
      )}
      {budget === null && (
        <p className="sub">
          No limit is set for all trees together. <code>reeve budget set --max-cost 100 --per day</code>
        </p>
      )}
      <div className="limit-row">
        <span>Agents alive</span>
        <span className="sub">
          {count(live.agents)} in {countText(live.trees, "tree")}
        </span>
      </div>
      <div className="limit-row">
        <span>Reserved by calls in flight</span>
        <span className="sub">{exactDollars(live.reservedMicros)}</span>
      </div>
    </div>
  );
}

function Refusals({ period, figures }: { readonly period: Period; readonly figures: Figures }): ReactNode {
  const { data } = useStopped(period);
  return (
    <section className="card" aria-label="Stopped by a budget">
      <header>
        <h2>Stopped by a budget</h2>
        <span className="muted">
          {countText(figures.stopped, "run")}, {countText(figures.denied, "call")} refused
        </span>
      </header>
      {data?.items.map((run) => (
        <div className="den" key={run.runId}>
          <StatusMark status={run.status} markOnly />
          <span className="el">
            <Link href={`/runs/${segment(run.treeId)}`}>
              <InertText text={run.name ?? run.treeId} />
            </Link>
            <br />
            <span className="muted">
              <InertText text={run.agentId} />: {run.stopReason === null ? "" : reasonText(run.stopReason)}
            </span>
          </span>
          <span className="muted">{exactDollars(run.costMicros)}</span>
        </div>
      ))}
    </section>
  );
}

function Doubts(): ReactNode {
  const { data } = useInDoubt();
  const lock = useLock("admin");
  const [open, setOpen] = useState<DoubtRecord | null>(null);
  const items = data?.items ?? [];
  const sum = items.reduce((all, { costMicros }) => all + costMicros, 0);
  return (
    <section className="card" aria-label="In doubt">
      <header>
        <h2>In doubt</h2>
        <span className="muted">
          {countText(items.length, "call")}
          {data?.next != null && " and more"}, {exactDollars(sum)}
        </span>
      </header>
      {items.map((doubt) => (
        <div className="den" key={doubt.attempt}>
          <StatusMark status="needs you" markOnly />
          <span className="el">
            <Link href={`/runs/${segment(doubt.treeId)}`}>
              <InertText text={doubt.treeId} />
            </Link>
            , <InertText text={`${doubt.model} of ${doubt.agentType}`} />
            <br />
            <span className="muted">
              no answer, <Ago at={doubt.at} suffix=" ago" />: booked at its ceiling,{" "}
              {exactDollars(doubt.costMicros)}
            </span>
          </span>
          <Button label="Settle" size="small" locked={lock} onPress={() => setOpen(doubt)} />
        </div>
      ))}
      {open && <SettleDialog doubt={open} onClose={() => setOpen(null)} />}
    </section>
  );
}
