import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { type AgentView, allAgents, type StepFigures, type TreeView } from "#view";
import { useApprovals } from "../api/queries.ts";
import type { ApprovalRecord } from "../api/records.ts";
import { runActions } from "../api/run-actions.ts";
import { useLock } from "../api/session.tsx";
import { useSteps } from "../api/steps.ts";
import { useHold, useSpeech, useTree } from "../live/use-tree.ts";
import type { FeedState } from "../live/tree-feed.ts";
import { count } from "../parts/amounts.ts";
import { useEndAnnouncement } from "../parts/announcer.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { lateScreen } from "../parts/late-screen.tsx";
import { Failure, NothingHere, Skeleton } from "../parts/states.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useNow } from "../parts/use-now.ts";
import { useRested } from "../parts/use-rested.ts";
import { useTitle } from "../parts/use-title.ts";
import { stepPath } from "../step/step-names.ts";
import { AgentPanel } from "./agent-panel.tsx";
import { EventLog } from "./event-log.tsx";
import { MoneyBanner } from "./money-banner.tsx";
import { RunDialogs, type RunDialog } from "./run-dialogs.tsx";
import { type HeadActions, RunHead } from "./run-head.tsx";
import { TabLinks } from "./tab-links.tsx";
import { TreeGrid } from "./tree-grid.tsx";
import { numberOf, toRows, type TreeRow } from "./tree-rows.ts";
import { WhyBanner } from "./why-banner.tsx";

const runTab = lateScreen("Run", async () => (await import("./tabs/run-tab.tsx")).RunTab);

/** One tree, live, with the tab that is open. */
export function RunScreen({ tree, tab }: { readonly tree: string; readonly tab: string }): ReactNode {
  useTitle(tree);
  const lock = useLock("read");
  const state = useTree(lock === null ? tree : null);
  if (lock !== null)
    return <Failure title="The run cannot be read" detail={`${lock}: this key lacks the scope read`} />;
  switch (state.kind) {
    case "loading":
      return <Skeleton label="Run" />;
    case "missing":
      return <NothingHere />;
    case "failed":
      return <Failure title="The run cannot be read" detail={state.detail} />;
    case "ready":
      return <RunBody state={state} tab={tab} />;
  }
}

interface Selection {
  readonly rows: readonly TreeRow[];
  readonly selected: TreeRow | undefined;
  readonly select: (key: string) => void;
  readonly toggle: (key: string) => void;
}

/**
 * The selected row and the folds. The address names the selected agent once the selection rests: browsers ignore changes
 * of the address that follow each other as fast as a held key repeats.
 */
function useSelection(tree: TreeView): Selection {
  const [params, setParams] = useSearchParams();
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => toRows(tree.root, toggled), [tree.root, toggled]);
  const at = params.get("at");
  const [known, setKnown] = useState(at);
  const [chosen, setChosen] = useState<string | null>(null);
  const written = useRef<string | null>(null);
  if (at !== known) {
    setKnown(at);
    // Otherwise a link, or the browser, has changed the address.
    if (at !== written.current) setChosen(null);
  }
  const isSelected = (row: TreeRow): boolean =>
    chosen === null ? row.kind === "agent" && numberOf(row.agent) === at : row.key === chosen;
  const selected = rows.find(isSelected) ?? rows[0];
  const rested = useRested(chosen);
  useEffect(() => {
    const number = rested === null ? null : chosenNumber(rested);
    if (number === null || number === at) return;
    written.current = number;
    setParams({ at: number }, { replace: true });
    // Only a new selection changes the address; a new address changes the selection above.
  }, [rested]);
  const toggle = (key: string): void => {
    const next = new Set(toggled);
    if (!next.delete(key)) next.add(key);
    setToggled(next);
  };
  return { rows, selected, select: setChosen, toggle };
}

/** The number of the selected agent, such as `~29`. Null: the row is a group. */
const chosenNumber = (key: string): string | null => /~\d+$/.exec(key)?.[0] ?? null;

function RunBody({
  state,
  tab,
}: {
  readonly state: FeedState & { readonly kind: "ready" };
  readonly tab: string;
}): ReactNode {
  const { view: tree } = state;
  const now = Math.max(useNow(), tree.at);
  useEndAnnouncement(tree.treeId, tree.root.end?.status ?? null);
  const [dialog, setDialog] = useState<RunDialog | null>(null);
  const selection = useSelection(tree);
  const pending = (useApprovals("pending").data ?? []).filter(({ treeId }) => treeId === tree.treeId);
  const agent = agentOf(selection.selected) ?? tree.root;
  useSpeech(useRested(agent.runId));
  const actions = actionsOn(agent, (kind) => setDialog({ kind, agent }));
  return (
    <>
      <RunHead tree={tree} now={now} actions={actions} />
      <WhyBanner tree={tree} pending={pending} now={now} />
      <MoneyBanner tree={tree} now={now} onTopUp={(poor) => setDialog({ kind: "top-up", agent: poor })} />
      {tab === "tree" ? (
        <TreeTab {...{ state, selection, agent, actions, pending, now }} />
      ) : (
        <runTab.Screen tree={tree} tab={tab} />
      )}
      {dialog && <RunDialogs dialog={dialog} tree={tree} onClose={() => setDialog(null)} />}
    </>
  );
}

const treeKeys = [
  ["↑ ↓", "agent"],
  ["← →", "fold"],
  ["↵", "its last step"],
  ["S", "steer"],
  ["P", "pause"],
  ["T", "top up"],
  ["⇧C", "cancel"],
  [".", "next that needs you"],
] as const;

function TreeTab({
  state,
  selection,
  agent,
  actions,
  pending,
  now,
}: {
  readonly state: FeedState & { readonly kind: "ready" };
  readonly selection: Selection;
  readonly agent: AgentView;
  readonly actions: HeadActions;
  readonly pending: readonly ApprovalRecord[];
  readonly now: number;
}): ReactNode {
  const { view: tree, events, speech } = state;
  const parent = parentOf(tree, agent);
  const end = tree.root.end ? tree.at : now;
  const to = Math.max(1000, end - tree.startedAt);
  const axis = useMemo(() => ({ from: 0, to }), [to]);
  const steps = useStepsOf(agent);
  const hold = useHold();
  useKeys({ h: hold.toggle, u: hold.showNew });
  useRunKeys(selection, actions, tree, steps?.at(-1) ?? null);
  return (
    <>
      <div className="run-body">
        <div className="left">
          <TabLinks tree={tree.treeId} tab="tree" />
          <TreeGrid
            tree={tree}
            rows={selection.rows}
            selected={selection.selected?.key ?? ""}
            axis={axis}
            now={end}
            speech={speech}
            onSelect={selection.select}
            onToggle={selection.toggle}
          />
          <EventLog events={events} />
        </div>
        <AgentPanel
          tree={tree}
          agent={agent}
          parent={parent}
          pending={pendingOf(agent, pending)}
          said={speech.get(agent.runId) ?? ""}
          steps={steps ?? []}
          now={now}
        />
      </div>
      <RunFoot state={state} hold={hold} now={now} />
    </>
  );
}

/** The steps of an agent; null: not read yet. */
function useStepsOf({ runId }: AgentView): readonly StepFigures[] | null {
  const run = useRested(runId);
  const { steps } = useSteps({ run, own: true });
  return run === runId ? steps : null;
}

function RunFoot({
  state,
  hold,
  now,
}: {
  readonly state: FeedState & { readonly kind: "ready" };
  readonly hold: ReturnType<typeof useHold>;
  readonly now: number;
}): ReactNode {
  return (
    <KeyBar
      keys={[...treeKeys, ["H", hold.isHeld ? "go on" : "hold still"]]}
      right={footOf(state, hold.isHeld, now)}
    />
  );
}

/** The last event that is shown, and how fast more come. */
function footOf(
  { view, isOver, progress }: FeedState & { readonly kind: "ready" },
  isHeld: boolean,
  now: number,
): string {
  const shown = `event ${count(view.seq)}`;
  if (isHeld) return `held at ${shown} · ${count(progress.seq - view.seq)} new, U shows them`;
  return `${shown} · ${isOver ? "over" : `${count(Math.round(progress.perSecond(now)))} a second`}`;
}

const agentOf = (row: TreeRow | undefined): AgentView | null =>
  row?.kind === "group" ? (row.agents[0] ?? null) : (row?.agent ?? null);

function parentOf({ root }: TreeView, { parentRunId }: AgentView): AgentView | null {
  if (parentRunId === null) return null;
  return allAgents(root).find(({ runId }) => runId === parentRunId) ?? null;
}

/** The questions of a run and all below it. */
function pendingOf(agent: AgentView, pending: readonly ApprovalRecord[]): readonly ApprovalRecord[] {
  if (pending.length === 0) return pending;
  const below = new Set<string>([...allAgents(agent)].map(({ runId }) => runId));
  return pending.filter(({ runId }) => below.has(runId));
}

function actionsOn(agent: AgentView, open: (dialog: RunDialog["kind"]) => void): HeadActions {
  const isPaused = agent.status === "paused";
  return {
    isPaused,
    hasEnded: agent.end !== null,
    open,
    togglePause: () => void (isPaused ? runActions.resume : runActions.pause)(agent.runId, agent.agent),
  };
}

function useRunKeys(
  { rows, selected, select, toggle }: Selection,
  actions: HeadActions,
  tree: TreeView,
  lastStep: StepFigures | null,
): void {
  const [, go] = useLocation();
  const at = rows.findIndex(({ key }) => key === selected?.key);
  const move = (step: number): void => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
    if (row) select(row.key);
  };
  const fold = (isOpen: boolean): void => {
    if (!selected) return;
    if (selected.isOpen === !isOpen) return toggle(selected.key);
    if (isOpen) return move(1);
    const above = rows.slice(0, at).findLast(({ level }) => level < selected.level);
    if (above) select(above.key);
  };
  const ifLive = (act: () => void) => (): void => (actions.hasEnded ? undefined : act());
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    ArrowRight: () => fold(true),
    ArrowLeft: () => fold(false),
    ".": () => {
      const asking = tree.root.asks.map(({ runId }) => String(runId));
      const next = asking[(asking.indexOf(selected?.key ?? "") + 1) % Math.max(1, asking.length)];
      if (next !== undefined) select(next);
    },
    Enter: () => {
      if (lastStep) go(stepPath(lastStep));
    },
    s: ifLive(() => actions.open("steer")),
    t: ifLive(() => actions.open("top-up")),
    C: ifLive(() => actions.open("cancel")),
    p: ifLive(actions.togglePause),
    Backspace: () => go("/runs"),
  });
}
