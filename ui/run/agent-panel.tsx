import type { ReactNode } from "react";
import { accountsOf, activityText, type AgentView, fromEvents, type TreeView, why } from "#view";
import type { ApprovalRecord } from "../api/records.ts";
import { counted, dollars, tokens } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { SpendBar } from "../parts/spend-bar.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { shownStatus } from "./tree-grid.tsx";
import { typeOf } from "./tree-rows.ts";

/** The selected agent: why it stands where it stands, what may stop it first, and what it says. */
export function AgentPanel({
  tree,
  agent,
  parent,
  pending,
  said,
  now,
}: {
  readonly tree: TreeView;
  readonly agent: AgentView;
  readonly parent: AgentView | null;
  readonly pending: readonly ApprovalRecord[];
  readonly said: string;
  readonly now: number;
}): ReactNode {
  return (
    <aside className="side" aria-label={`The selected agent: ${agent.agent}`}>
      <PanelHead agent={agent} parent={parent} now={now} />
      <WhySection agent={agent} parent={parent} pending={pending} now={now} />
      <Accounts tree={tree} agent={agent} />
      {said !== "" && (
        <section className="sec">
          <h2>Says</h2>
          <div className="say">
            <InertText text={said} />
          </div>
        </section>
      )}
      <section className="sec">
        <h2>
          <span>Its own calls</span>
          <span className="muted">{dollars(agent.own.costMicros)}</span>
        </h2>
        <div className="facts">
          <span>{counted(agent.own.calls, "model call")}</span>
          <span>{tokens(agent.own.usage.input)} tokens in</span>
          <span>{tokens(agent.own.usage.output)} tokens out</span>
        </div>
      </section>
    </aside>
  );
}

function Accounts({ tree, agent }: { readonly tree: TreeView; readonly agent: AgentView }): ReactNode {
  const accounts = accountsOf(tree, agent.runId);
  const tightest = accounts.find(({ isTightest }) => isTightest);
  const names = { run: "its own cap", parent: "a cap above it", tree: "the tree's cap" } as const;
  return (
    <section className="sec">
      <h2>
        <span>What may stop it first</span>
        <span className="muted">{tightest ? names[tightest.kind] : "no limit"}</span>
      </h2>
      <div className="acc">
        {accounts.map((account) => (
          <div key={account.runId ?? "tree"} className={account.isTightest ? "tight" : ""}>
            <span className="el">
              <InertText text={account.runId ?? "tree"} />
            </span>
            <SpendBar spend={account} ended={agent.end !== null} />
            <span className="r">
              {account.freeMicros === null ? "no limit" : `${dollars(account.freeMicros)} free`}
            </span>
          </div>
        ))}
      </div>
    </section>
  );
}

interface PartProps {
  readonly agent: AgentView;
  readonly parent: AgentView | null;
  readonly now: number;
}

function PanelHead({ agent, parent, now }: PartProps): ReactNode {
  return (
    <div className="h">
      <div className="line">
        <StatusMark status={shownStatus(agent)} />
        <b>
          <InertText text={agent.agent} />
        </b>
        <span className="mono muted el">{agent.runId}</span>
      </div>
      <div className="sub">
        <InertText text={activityText(agent, now)} />
        {parent && (
          <>
            {" · child of "}
            <InertText text={typeOf(parent)} />
          </>
        )}{" "}
        · {agent.priority}
      </div>
    </div>
  );
}

function WhySection({
  agent,
  parent,
  pending,
  now,
}: PartProps & { readonly pending: readonly ApprovalRecord[] }): ReactNode {
  const { answer, details, hints } = why({ ...fromEvents(agent, parent), pending }, now);
  return (
    <section className="sec why-panel">
      <h2>Why</h2>
      <p>
        <b>
          <InertText text={answer} />
        </b>
      </p>
      {details.map((detail) => (
        <p key={detail} className="sub">
          <InertText text={detail} />
        </p>
      ))}
      {hints.map((hint) => (
        <code key={hint} className="cmd">
          {hint}
        </code>
      ))}
    </section>
  );
}
