import { memo, type ReactNode } from "react";
import { Link } from "wouter";
import {
  accountsOf,
  activityText,
  type AgentView,
  fromEvents,
  type StepFigures,
  type TreeView,
  why,
} from "#view";
import type { ApprovalRecord } from "../api/records.ts";
import { count, dollars, tokens } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { SpendBar } from "../parts/spend-bar.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { stepName, stepPath } from "../step/step-names.ts";
import { amountText, durationOf, seconds, StepMark } from "../step/step-state.tsx";
// oxlint-disable-next-line import/no-unassigned-import -- styles of this part
import "./agent-steps.css";
import { shownStatus } from "./tree-grid.tsx";
import { typeOf } from "./tree-rows.ts";

/** The selected agent: the reason for its state, the limit it is closest to, and its text. */
export function AgentPanel({
  tree,
  agent,
  parent,
  pending,
  said,
  steps,
  now,
}: {
  readonly tree: TreeView;
  readonly agent: AgentView;
  readonly parent: AgentView | null;
  readonly pending: readonly ApprovalRecord[];
  readonly said: string;
  /** The steps of the agent, oldest first. */
  readonly steps: readonly StepFigures[];
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
      <AgentSteps agent={agent} steps={steps} />
    </aside>
  );
}

/** Steps that the panel lists. */
const shownSteps = 30;

function AgentSteps({
  agent,
  steps,
}: {
  readonly agent: AgentView;
  readonly steps: readonly StepFigures[];
}): ReactNode {
  const { usage, costMicros } = agent.own;
  return (
    <section className="sec">
      <h2>
        <span>Steps</span>
        <span className="muted">
          {count(steps.length)}, {dollars(costMicros)}
        </span>
      </h2>
      <div className="facts">
        <span>{tokens(usage.input)} tokens in</span>
        <span>{tokens(usage.output)} tokens out</span>
      </div>
      <div className="agent-steps">
        {steps
          .slice(-shownSteps)
          .toReversed()
          .map((step) => (
            <StepLink key={step.stepId} step={step} />
          ))}
      </div>
    </section>
  );
}

const StepLink = memo(function StepLink({ step }: { readonly step: StepFigures }): ReactNode {
  return (
    <Link href={stepPath(step)}>
      <StepMark state={step.state} markOnly />
      <span className="el">
        <InertText text={stepName(step)} />
      </span>
      <span className="muted">{timeText(step)}</span>
      <span className="r">{amountText(step)}</span>
    </Link>
  );
});

function timeText(step: StepFigures): string {
  const ms = durationOf(step);
  return ms === null || step.kind === "tool" ? "" : seconds(ms);
}

function Accounts({ tree, agent }: { readonly tree: TreeView; readonly agent: AgentView }): ReactNode {
  const accounts = accountsOf(tree, agent.runId);
  const tightest = accounts.find(({ isTightest }) => isTightest);
  const names = { run: "its own cap", parent: "a cap above it", tree: "the tree's cap" } as const;
  return (
    <section className="sec">
      <h2>
        <span>Nearest limit</span>
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
      {details.map((detail, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- children that wait for the same have equal texts
        <p key={index} className="sub">
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
