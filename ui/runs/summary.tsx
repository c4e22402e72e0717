import type { ReactNode } from "react";
import { Link } from "wouter";
import { useTenant } from "../api/queries.ts";
import type { ApprovalRecord, TenantAccount } from "../api/records.ts";
import { Ago } from "../parts/ago.tsx";
import { countText, dollars, limitDollars } from "../parts/amounts.ts";
import { BarSample, SpendBar } from "../parts/spend-bar.tsx";

/** The summary: pending questions, live runs, cost, and remaining budget. */
export function Summary({ pending }: { readonly pending: readonly ApprovalRecord[] }): ReactNode {
  const account = useTenant().data;
  const [oldest] = pending;
  const { agents = 0, trees = 0 } = account?.live ?? {};
  return (
    <section className="sum" aria-label="Now">
      <div>
        <div className="k">Needs you</div>
        <div className={oldest ? "v ask" : "v"}>
          {oldest ? (
            <Link href="/approvals">
              {pending.length}{" "}
              <small>
                {pending.length === 1 ? "question" : "questions"}, oldest <Ago at={oldest.requestedAt} />
              </small>
            </Link>
          ) : (
            <>
              0 <small>nothing waits for you</small>
            </>
          )}
        </div>
      </div>
      <div>
        <div className="k">Working</div>
        <div className="v">
          {agents} <small>{`${agents === 1 ? "agent" : "agents"} in ${countText(trees, "live tree")}`}</small>
        </div>
      </div>
      <SpentNow account={account} />
      <div className="limit-cell">{account && <LimitCell account={account} />}</div>
    </section>
  );
}

const spentOf = ({ settledMicros, inDoubtMicros }: TenantAccount["today"]): number =>
  settledMicros + inDoubtMicros;

function SpentNow({ account }: { readonly account: TenantAccount | undefined }): ReactNode {
  return (
    <div>
      <div className="k">This hour</div>
      <div className="v">
        <Link href="/spend?range=day">
          {dollars(account ? spentOf(account.thisHour) : 0)}{" "}
          <small>{dollars(account ? spentOf(account.today) : 0)} today, UTC</small>
        </Link>
      </div>
    </div>
  );
}

const periods = { day: "Today", month: "This month", ever: "Ever" } as const;

function LimitCell({ account: { budget, live } }: { readonly account: TenantAccount }): ReactNode {
  const limit = budget?.maxCostMicros ?? null;
  if (budget === null || limit === null)
    return (
      <>
        <div className="k">Reserved by calls in flight</div>
        <div className="v">
          {dollars(live.reservedMicros)} <small>no limit for all trees together</small>
        </div>
      </>
    );
  const [spent, reserved] = [budget.spent.costMicros, budget.lent.costMicros];
  const spend = { settledMicros: spent, reservedMicros: reserved, inDoubtMicros: 0, maxCostMicros: limit };
  return (
    <>
      <div className="k ends">
        <span>{periods[budget.per]}, of the tenant's limit</span>
        <span>{dollars(Math.max(0, limit - spent - reserved))} free</span>
      </div>
      <SpendBar spend={spend} big />
      <div className="k samples">
        <span>
          <BarSample part="settledMicros" /> {dollars(spent)} spent
        </span>
        <span>
          <BarSample part="reservedMicros" /> {dollars(reserved)} lent to live trees
        </span>
        <span>
          <BarSample part={null} /> of {limitDollars(limit)}
        </span>
      </div>
    </>
  );
}
