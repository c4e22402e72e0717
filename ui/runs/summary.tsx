import type { ReactNode } from "react";
import { Link } from "wouter";
import type { ApprovalRecord, RunRecord } from "../api/records.ts";
import { useRunList } from "./use-run-list.ts";
import { counted, dollars } from "../parts/amounts.ts";
import { Ago } from "../parts/ago.tsx";

const sum = (runs: readonly RunRecord[], of: (run: RunRecord) => number): number =>
  runs.reduce((all, run) => all + of(run), 0);

/** The first answers: does anything wait for the reader, what works, and how much money is held. */
export function Summary({ pending }: { readonly pending: readonly ApprovalRecord[] }): ReactNode {
  const live = useRunList({ show: "live", agent: "", after: null }).items ?? [];
  const [oldest] = pending;
  const agents = sum(live, ({ liveAgents }) => liveAgents ?? 1);
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
          {agents}{" "}
          <small>{`${agents === 1 ? "agent" : "agents"} in ${counted(live.length, "live tree")}`}</small>
        </div>
      </div>
      <div>
        <div className="k">Spent by live trees</div>
        <div className="v">{dollars(sum(live, ({ costMicros }) => costMicros))}</div>
      </div>
      <div>
        <div className="k">Reserved by calls in flight</div>
        <div className="v">{dollars(sum(live, ({ reservedMicros }) => reservedMicros))}</div>
      </div>
    </section>
  );
}
