import { type ReactNode, useEffect, useRef } from "react";
import { activityText, type AgentView, reasonText } from "#view";
import { useDecide } from "../api/decide.ts";
import { useApprovals, useResult } from "../api/queries.ts";
import type { ApprovalRecord, Json } from "../api/records.ts";
import { useLock } from "../api/session.tsx";
import { ArgumentTable } from "../approvals/argument-table.tsx";
import { AnswerForm, questionOf } from "../approvals/answer-form.tsx";
import type { FeedState } from "../live/tree-feed.ts";
import { dollars, span } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useNow } from "../parts/use-now.ts";
import { useSettled } from "../parts/use-settled.ts";
import { shownStatus } from "../run/tree-grid.tsx";
import { typeOf } from "../run/tree-rows.ts";

/** One task that was given here. */
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
}: {
  readonly turns: readonly Turn[];
  readonly agent: string;
  readonly live: FeedState;
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
        <TurnView key={turn.tree} turn={turn} live={index === turns.length - 1 ? live : null} agent={agent} />
      ))}
      <div ref={end} />
    </div>
  );
}

function TurnView({
  turn,
  live,
  agent,
}: {
  readonly turn: Turn;
  readonly live: FeedState | null;
  readonly agent: string;
}): ReactNode {
  const ready = live?.kind === "ready" && live.view.treeId === turn.tree ? live : null;
  const root = ready?.view.root ?? null;
  const hasEnded = live === null || (root?.end ?? null) !== null;
  const { data: result } = useResult(turn.tree, hasEnded);
  const asked = (useApprovals("pending").data ?? []).filter(({ treeId }) => treeId === turn.tree);
  const said = root === null ? "" : (ready?.speech.get(root.runId) ?? "");
  const answer = result ? outputText(result.output) : said;
  return (
    <>
      <div className="u">
        <InertText text={turn.text} />
      </div>
      {root?.children.map((child) => (
        <Child key={child.runId} child={child} />
      ))}
      {turn.steers.map((text, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- steers are only added
        <div className="u" key={index}>
          <InertText text={text} />
        </div>
      ))}
      {asked.map((record, index) => (
        <Question key={record.id} record={record} isFirst={index === 0} />
      ))}
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
    </>
  );
}

const outputText = (output: Json): string =>
  output === null ? "" : typeof output === "string" ? output : JSON.stringify(output, null, 2);

function Child({ child }: { readonly child: AgentView }): ReactNode {
  const now = useNow();
  const took = child.end ? child.end.durationMs : now - child.startedAt;
  return (
    <div className="hire">
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

/** A question where it was asked. Only the first one has keys. */
function Question({
  record,
  isFirst,
}: {
  readonly record: ApprovalRecord;
  readonly isFirst: boolean;
}): ReactNode {
  const decide = useDecide();
  const lock = useLock("approve");
  const isSettled = useSettled(record.id);
  const settle = (verb: "approve" | "deny" | "edit", edited?: Json): void => {
    if (lock === null && isSettled())
      void decide(record, { verb, ...(edited !== undefined && { arguments: edited }) });
  };
  const isCall = record.asks === undefined;
  useKeys(isFirst ? { d: () => settle("deny"), ...(isCall && { a: () => settle("approve") }) } : {});
  return (
    <div className="qn">
      <header>
        <StatusMark status="needs you" markOnly />
        <b>
          <InertText
            text={isCall ? `May ${record.agentId} call ${record.tool}?` : `${record.agentId} asks a question`}
          />
        </b>
        <span className="sub risk">risk {record.risk}</span>
      </header>
      {isCall ? (
        <ArgumentTable record={record} />
      ) : (
        <AnswerForm
          question={questionOf(record.arguments)}
          isOpen={lock === null}
          onAnswer={(edited) => settle("edit", edited)}
        />
      )}
      <footer>
        <Button
          label="Deny"
          hint="D"
          size="small"
          tone="danger"
          locked={lock}
          onPress={() => settle("deny")}
        />
        {isCall && (
          <Button
            label="Approve"
            hint="A"
            size="small"
            tone="primary"
            locked={lock}
            onPress={() => settle("approve")}
          />
        )}
      </footer>
    </div>
  );
}
