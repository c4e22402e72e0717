import { Fragment, type ReactNode, useEffect, useRef } from "react";
import { activityText, type AgentView, allAgents, reasonText } from "#view";
import { useApprovals, useResult } from "../api/queries.ts";
import type { ApprovalRecord, RunResult } from "../api/records.ts";
import type { FeedState } from "../live/tree-feed.ts";
import { dollars, span } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { useNow } from "../parts/use-now.ts";
import { shownStatus } from "../run/tree-grid.tsx";
import { typeOf } from "../run/tree-rows.ts";
import { MoneyWait } from "./money-wait.tsx";
import { Question } from "./question.tsx";
import { Receipt } from "./receipt.tsx";

/** One task given on this page. */
export interface Turn {
  readonly tree: string;
  readonly text: string;
  /** Content that was added while it worked. */
  readonly steers: readonly string[];
}

/** The conversation: tasks, children in one line each, questions where they are asked, answers. */
export function Talk({
  turns,
  agent,
  live,
  onTopUp,
}: {
  readonly turns: readonly Turn[];
  readonly agent: string;
  readonly live: FeedState;
  readonly onTopUp: () => void;
}): ReactNode {
  const end = useRef<HTMLDivElement>(null);
  const root = live.kind === "ready" ? live.view.root : null;
  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [turns, root]);
  return (
    <div className="talk" role="log" aria-label="Conversation" tabIndex={0}>
      {turns.length === 0 && (
        <p className="sub">Give {agent} a task. Nothing is spent above the limit below.</p>
      )}
      {turns.map((turn, index) => (
        <TurnView
          key={turn.tree}
          turn={turn}
          live={index === turns.length - 1 ? live : null}
          agent={agent}
          onTopUp={onTopUp}
        />
      ))}
      <div ref={end} />
    </div>
  );
}

function TurnView({
  turn,
  live,
  agent,
  onTopUp,
}: {
  readonly turn: Turn;
  readonly live: FeedState | null;
  readonly agent: string;
  readonly onTopUp: () => void;
}): ReactNode {
  const ready = live?.kind === "ready" && live.view.treeId === turn.tree ? live : null;
  const root = ready?.view.root ?? null;
  const hasEnded = live === null || (root?.end ?? null) !== null;
  const { data: result } = useResult(turn.tree, hasEnded);
  const asked = (useApprovals("pending").data ?? []).filter(({ treeId }) => treeId === turn.tree);
  const said = root === null ? "" : (ready?.speech.get(root.runId) ?? "");
  const answer = result ? answerText(result) : said;
  return (
    <>
      <div className="u">
        <InertText text={turn.text} />
      </div>
      {root?.children.map((child) => (
        <Fragment key={child.runId}>
          <Child child={child} />
          {questionsOf(asked, child).map((record) => (
            <Question key={record.id} record={record} isFirst={record === asked[0]} />
          ))}
        </Fragment>
      ))}
      {turn.steers.map((text, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- steers are only added
        <div className="u" key={index}>
          <InertText text={text} />
        </div>
      ))}
      {asked
        .filter((record) => !root?.children.some((child) => questionsOf(asked, child).includes(record)))
        .map((record) => (
          <Question key={record.id} record={record} isFirst={record === asked[0]} />
        ))}
      {ready && <MoneyWait tree={ready.view} onTopUp={onTopUp} />}
      {answer !== "" && (
        <div className="a">
          <div className="by">{agent}</div>
          <p>
            <InertText text={answer} />
          </p>
        </div>
      )}
      {result && result.stopReason !== "answer" && (
        <p className="sub">
          {result.status}: {reasonText(result.stopReason)}
          {result.error?.message ? ` (${result.error.message})` : ""}
        </p>
      )}
      {ready && root?.end && <Receipt tree={ready.view} />}
    </>
  );
}

/** The questions of a child, and of all below it. */
function questionsOf(asked: readonly ApprovalRecord[], child: AgentView): readonly ApprovalRecord[] {
  const runs = new Set<string>([...allAgents(child)].map(({ runId }) => runId));
  return asked.filter(({ runId }) => runs.has(runId));
}

function answerText({ output, withheld }: RunResult): string {
  if (withheld) return "[content: needs the scope content]";
  return output === null ? "" : typeof output === "string" ? output : JSON.stringify(output, null, 2);
}

function Child({ child }: { readonly child: AgentView }): ReactNode {
  const now = useNow();
  const took = child.end ? child.end.durationMs : now - child.startedAt;
  return (
    <div className="spawn">
      <StatusMark status={shownStatus(child)} markOnly />
      <span className="el">
        <b>
          <InertText text={typeOf(child)} />
        </b>{" "}
        <span className="sub">
          <InertText text={activityText(child, now)} />
        </span>
      </span>
      <span className="muted nw">
        {dollars(child.costMicros)}, {span(took)}
      </span>
    </div>
  );
}
