import { type ReactNode, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { type DecisionOutcome, overtakenText } from "../api/decide.ts";
import { errorText, segment } from "../api/http.ts";
import { useApprovals } from "../api/queries.ts";
import type { ApprovalRecord } from "../api/records.ts";
import { useMe } from "../api/session.tsx";
import { Ago } from "../parts/ago.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { Empty, Failure, Skeleton } from "../parts/states.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useTitle } from "../parts/use-title.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { ApprovalFilter, useApprovalFilter } from "./approval-filter.tsx";
import { isFromMemory, isRemembered } from "./decision-line.tsx";

const keys = [
  ["J K", "next"],
  ["A", "approve"],
  ["D", "deny"],
  ["E", "edit"],
  ["⇧A", "approve this tool for this run"],
  ["O", "open the tree"],
] as const;

/** The keys of a question: an answer and the rule of two are not remembered, and a question has no arguments to approve. */
function keysFor({ asks, ruleOfTwo, decision }: ApprovalRecord): readonly (readonly [string, string])[] {
  const isOffered = (key: string): boolean => {
    if (key === "J K" || key === "O") return true;
    if (decision !== null) return false;
    if (key === "⇧A") return !asks && !ruleOfTwo;
    return key === "D" || !asks;
  };
  return keys.filter(([key]) => isOffered(key));
}

/** Questions of all trees: the queue at the left, oldest first, and exactly what will be done at the right. */
export function ApprovalsScreen({ id }: { readonly id: string | null }): ReactNode {
  useTitle("Approvals");
  const [, go] = useLocation();
  const [params] = useSearchParams();
  const state = params.get("state") === "decided" ? "decided" : "pending";
  const filter = useApprovalFilter();
  const { data, error, refetch } = useApprovals(state, filter.query);
  const overtaken = useOvertaken();
  const { id: me } = useMe();
  const [place, setPlace] = useState(0);
  const list = data ?? [];
  const named = list.findIndex((record) => record.id === id);
  // A decided question leaves the list, and the next one takes its position.
  const at = Math.min(named === -1 ? place : named, Math.max(0, list.length - 1));
  const record = list[at];
  const suffix = params.size === 0 ? "" : `?${params.toString()}`;
  const open = (index: number): void => {
    const next = list[Math.max(0, Math.min(list.length - 1, index))];
    if (!next) return;
    setPlace(list.indexOf(next));
    go(`/approvals/${segment(next.id)}${suffix}`);
  };
  const openTree = (): void => (record ? go(`/runs/${segment(record.treeId)}`) : undefined);
  useKeys({ j: () => open(at + 1), k: () => open(at - 1), o: openTree });
  return (
    <>
      <h1 className="for-readers">Approvals</h1>
      <div className="approvals-body">
        <Queue state={state} list={data ?? null} at={at} filter={filter} suffix={suffix} />
        {overtaken.text !== null && (
          <Overtaken
            text={overtaken.text}
            hasNext={record !== undefined && state === "pending"}
            onClose={overtaken.clear}
          />
        )}
        {record ? (
          <ApprovalCard
            key={record.id}
            record={record}
            onDecided={(outcome) => {
              setPlace(at);
              overtaken.watch(record, outcome);
            }}
          />
        ) : (
          <NoQuestion
            state={state}
            isRead={data !== undefined}
            isFiltered={Object.keys(filter.query).length > 0}
            error={error}
            onRetry={() => void refetch()}
          />
        )}
      </div>
      <KeyBar keys={record ? keysFor(record) : keys.slice(0, 1)} right={`You decide as ${me}`} />
    </>
  );
}

function Queue({
  state,
  list,
  at,
  filter,
  suffix,
}: {
  readonly state: State;
  /** Null: not read yet. */
  readonly list: readonly ApprovalRecord[] | null;
  readonly at: number;
  readonly filter: ReturnType<typeof useApprovalFilter>;
  readonly suffix: string;
}): ReactNode {
  return (
    <nav className="queue" aria-label="Questions">
      <Tabs state={state} count={list?.length ?? null} />
      <ApprovalFilter query={filter.query} onChange={filter.change} />
      {list?.map((each, index) => (
        <QueueItem key={each.id} record={each} isOpen={index === at} suffix={suffix} />
      ))}
    </nav>
  );
}

/** Reports who decided what, if the user's own decision came too late. */
function useOvertaken(): {
  readonly text: string | null;
  readonly clear: () => void;
  readonly watch: (record: ApprovalRecord, outcome: Promise<DecisionOutcome>) => void;
} {
  const [text, setText] = useState<string | null>(null);
  return {
    text,
    clear: () => setText(null),
    watch: (record, outcome) => {
      setText(null);
      void outcome.then((end) => {
        if (typeof end === "object") setText(overtakenText(record, end.overtakenBy));
      });
    },
  };
}

function Overtaken({
  text,
  hasNext,
  onClose,
}: {
  readonly text: string;
  readonly hasNext: boolean;
  readonly onClose: () => void;
}): ReactNode {
  return (
    <div className="overtaken">
      <InertText text={text} />
      {hasNext && <span className="sub"> The next question is below.</span>}
      <button type="button" className="x" aria-label="Close" onClick={onClose}>
        ×
      </button>
    </div>
  );
}

function QueueItem({
  record,
  isOpen,
  suffix,
}: {
  readonly record: ApprovalRecord;
  readonly isOpen: boolean;
  readonly suffix: string;
}): ReactNode {
  return (
    <Link
      className={isOpen ? "it sel" : "it"}
      href={`/approvals/${segment(record.id)}${suffix}`}
      aria-current={isOpen ? "true" : undefined}
    >
      <b className="mono">
        <InertText text={record.tool} />
      </b>
      <span className="muted">
        <Ago at={record.requestedAt} />
      </span>
      <span className="sub el">
        <InertText text={`${record.agentId} in ${record.treeName ?? record.treeId}`} />
      </span>
      <span className="pills">
        {record.ruleOfTwo && <span className="pill ask">rule of two</span>}
        {record.asks ? (
          <span className="pill">question</span>
        ) : (
          <span className="pill">risk {record.risk}</span>
        )}
        {record.decision && <span className="pill">{record.decision.decision}</span>}
        {record.decision && (
          <span className="pill">
            by <InertText text={record.decision.by} />
          </span>
        )}
        {isRemembered(record) && <span className="pill">remembered</span>}
        {isFromMemory(record) && <span className="pill">from memory</span>}
      </span>
    </Link>
  );
}

type State = "pending" | "decided";

function Tabs({ state, count }: { readonly state: State; readonly count: number | null }): ReactNode {
  return (
    <div className="tabs">
      <Link href="/approvals" aria-current={state === "pending" ? "true" : undefined}>
        Waiting{state === "pending" && count !== null ? ` ${count}` : ""}
      </Link>
      <Link href="/approvals?state=decided" aria-current={state === "decided" ? "true" : undefined}>
        Decided
      </Link>
    </div>
  );
}

function NoQuestion({
  state,
  isRead,
  isFiltered,
  error,
  onRetry,
}: {
  readonly state: State;
  readonly isRead: boolean;
  readonly isFiltered: boolean;
  readonly error: Error | null;
  readonly onRetry: () => void;
}): ReactNode {
  return (
    <div className="decision">
      {!isRead && error && (
        <Failure title="The questions cannot be read" detail={errorText(error)} onRetry={onRetry} />
      )}
      {!isRead && !error && <Skeleton label="Approvals" />}
      {isRead && isFiltered && (
        <Empty title="No question matches the filter">
          <p>
            <Link className="link" href={state === "pending" ? "/approvals" : "/approvals?state=decided"}>
              Clear the filter
            </Link>
          </p>
        </Empty>
      )}
      {isRead && !isFiltered && (
        <Empty title={state === "pending" ? "Nothing waits for you" : "No decisions yet"}>
          <p>Calls that need approval and questions from agents appear here.</p>
        </Empty>
      )}
    </div>
  );
}
