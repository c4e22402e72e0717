import { type ReactNode, useEffect, useRef } from "react";
import { useLocation, useSearchParams } from "wouter";
import { errorText } from "../api/http.ts";
import { useAgents, useApprovals } from "../api/queries.ts";
import type { ApprovalRecord, RunRecord } from "../api/records.ts";
import { Button } from "../parts/button.tsx";
import { useHold } from "../live/use-tree.ts";
import { KeyBar } from "../parts/key-bar.tsx";
import { Empty, Failure, Skeleton } from "../parts/states.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useTitle } from "../parts/use-title.ts";
import { runScreen } from "../run/late-run-screen.ts";
import { RunsTable } from "./runs-table.tsx";
import { Summary } from "./summary.tsx";
import { type RunList, type Show, shows, useRunList } from "./use-run-list.ts";

const labels: Readonly<Record<Show, string>> = {
  all: "All",
  live: "Live",
  asks: "Needs you",
  stopped: "Stopped early",
};

const keys = [
  ["J K", "move"],
  ["↵", "open"],
  ["/", "filter"],
  ["N", "start"],
  ["H", "hold still"],
  ["?", "all keys"],
] as const;

/** Calls once the browser has nothing to do, unless the returned function is called before. */
function whenIdle(call: () => void): () => void {
  // Safari does not have idle callbacks.
  if (!("requestIdleCallback" in window)) {
    const timer = setTimeout(call, 500);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(call, { timeout: 2_000 });
  return () => cancelIdleCallback(handle);
}

/** All trees: status, spend against cap, why each waits or stopped. */
export function RunsScreen(): ReactNode {
  useTitle("Runs");
  const [, go] = useLocation();
  const [params, setParams] = useSearchParams();
  const show = shows.find((each) => each === params.get("show")) ?? "all";
  const agent = params.get("agent") ?? "";
  const after = params.get("after");
  const field = useRef<HTMLInputElement>(null);
  const pending = useApprovals("pending").data ?? [];
  const list = onlyAsking(useRunList({ show, agent, after }), show, pending);
  const hold = useHold();
  const hasRuns = list.items !== null && list.items.length > 0;
  useEffect(() => (hasRuns ? whenIdle(runScreen.preload) : undefined), [hasRuns]);
  const change = (name: string, value: string): void =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      next.delete("after");
      if (value === "" || value === "all") next.delete(name);
      else next.set(name, value);
      return next;
    });
  useKeys({
    "/": () => field.current?.focus(),
    n: () => go("/play"),
    h: hold.toggle,
    u: () => {
      hold.showNew();
      list.showNew();
    },
  });
  return (
    <>
      <h1 className="for-readers">Runs</h1>
      <Summary pending={pending} />
      <div className="tools">
        <ShowButtons show={show} onChange={(each) => change("show", each)} />
        <AgentFilter field={field} agent={agent} onChange={(value) => change("agent", value)} />
        <Button label="Start a run" icon="play" tone="primary" hint="N" onPress={() => go("/play")} />
      </div>
      <div className="wrap" onScroll={({ currentTarget }) => list.setScrolled(currentTarget.scrollTop > 0)}>
        {list.newCount > 0 && (
          <button type="button" className="new-line" onClick={list.showNew}>
            {list.newCount} new ↑ <span className="kbd">U</span>
          </button>
        )}
        <ListBody
          list={list}
          pending={pending}
          isFiltered={show !== "all" || agent !== ""}
          onClear={() => go("/runs")}
        />
      </div>
      <KeyBar
        keys={keys}
        right={`${hold.isHeld ? "held still, U shows new · " : ""}${footOf(list.items, list.next !== null)}`}
      />
    </>
  );
}

/** Filters the trees with an open question. */
function onlyAsking(list: RunList, show: Show, pending: readonly ApprovalRecord[]): RunList {
  if (show !== "asks" || list.items === null) return list;
  const asking = new Set<string>(pending.map(({ treeId }) => treeId));
  return { ...list, items: list.items.filter(({ treeId }) => asking.has(treeId)) };
}

const footOf = (items: readonly RunRecord[] | null, hasMore: boolean): string =>
  items === null ? "" : `${items.length} shown${hasMore ? ", there are more" : ""} · newest first`;

function AgentFilter({
  field,
  agent,
  onChange,
}: {
  readonly field: React.RefObject<HTMLInputElement | null>;
  readonly agent: string;
  readonly onChange: (agent: string) => void;
}): ReactNode {
  const agents = useAgents().data ?? [];
  return (
    <label className="filter">
      <span className="for-readers">Agent</span>
      <input
        ref={field}
        key={agent}
        defaultValue={agent}
        list="agents"
        placeholder="Only runs of agent …"
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Enter") onChange(currentTarget.value.trim());
          if (key === "Escape") currentTarget.blur();
        }}
        onBlur={({ currentTarget }) => {
          if (currentTarget.value.trim() !== agent) onChange(currentTarget.value.trim());
        }}
      />
      <datalist id="agents">
        {agents.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <span className="kbd" aria-hidden="true">
        /
      </span>
    </label>
  );
}

function ListBody({
  list,
  pending,
  isFiltered,
  onClear,
}: {
  readonly list: RunList;
  readonly pending: readonly ApprovalRecord[];
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}): ReactNode {
  const [, setParams] = useSearchParams();
  const [, go] = useLocation();
  const { items, error, next } = list;
  if (items === null)
    return error ? (
      <Failure title="The runs cannot be read" detail={errorText(error)} onRetry={list.retry} />
    ) : (
      <Skeleton label="Runs" />
    );
  if (items.length === 0 && isFiltered)
    return (
      <Empty title="No run matches the filter">
        <Button label="Clear the filter" onPress={onClear} />
      </Empty>
    );
  if (items.length === 0)
    return (
      <Empty title="Nothing has run yet" command={'npx reeve run lead "Prepare the report"'}>
        <p>Start a run here, or from a terminal. It appears as soon as it begins.</p>
        <Button label="Open the playground" icon="play" tone="primary" onPress={() => go("/play")} />
      </Empty>
    );
  return (
    <>
      <RunsTable runs={items} pending={pending} />
      {next !== null && (
        <div className="older">
          <Button
            label="Older"
            onPress={() =>
              setParams((before) => {
                const params = new URLSearchParams(before);
                params.set("after", next);
                return params;
              })
            }
          />
        </div>
      )}
    </>
  );
}

function ShowButtons({
  show,
  onChange,
}: {
  readonly show: Show;
  readonly onChange: (show: Show) => void;
}): ReactNode {
  return (
    <div className="seg" role="group" aria-label="Show">
      {shows.map((each) => (
        <button key={each} type="button" aria-pressed={each === show} onClick={() => onChange(each)}>
          {labels[each]}
        </button>
      ))}
    </div>
  );
}
