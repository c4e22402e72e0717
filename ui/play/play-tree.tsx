import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { activityText, allAgents, spendOf, type TreeView } from "#view";
import { segment } from "../api/http.ts";
import { runActions } from "../api/run-actions.ts";
import { useLock } from "../api/session.tsx";
import { countText, dollars, limitDollars, span } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { MoneyCell, SpendBar } from "../parts/spend-bar.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import { useNow } from "../parts/use-now.ts";
import { shownStatus } from "../run/tree-grid.tsx";
import { typeOf } from "../run/tree-rows.ts";

/** Rows that are shown; the whole tree has its own screen. */
const maxRows = 14;

/** The tree beside the talk: money, agents, and what each does. */
export function PlayTree({
  tree,
  onDialog,
}: {
  readonly tree: TreeView;
  readonly onDialog: (kind: "cancel" | "top-up") => void;
}): ReactNode {
  const now = Math.max(useNow(), tree.at);
  const { root, counts } = tree;
  const spend = spendOf(root, tree);
  const { reservedMicros, maxCostMicros } = spend;
  const agents = [...allAgents(root)];
  const depth = new Map<string, number>();
  for (const { runId, parentRunId } of agents)
    depth.set(runId, parentRunId === null ? 0 : (depth.get(parentRunId) ?? 0) + 1);
  return (
    <>
      <div className="sec panel">
        <div className="line total">
          <b>{dollars(root.costMicros)}</b>
          <span className="sub">
            {maxCostMicros === null ? "no limit" : `of ${limitDollars(maxCostMicros)}`},{" "}
            {reservedMicros === 0 ? "nothing reserved" : `${dollars(reservedMicros)} reserved`}
          </span>
          <span className="muted right">
            {span((root.end ? tree.at : now) - tree.startedAt)} · {countText(counts.agents, "agent")}
          </span>
        </div>
        <SpendBar spend={spend} ended={root.end !== null} big />
      </div>
      <div className="sec panel">
        {agents.slice(0, maxRows).map((agent) => (
          <div className="play-row" key={agent.runId}>
            <b className="el" style={{ paddingLeft: `${16 * (depth.get(agent.runId) ?? 0)}px` }}>
              <InertText text={typeOf(agent)} />
            </b>
            <StatusMark status={shownStatus(agent)} />
            <span className="m">
              <MoneyCell spend={spendOf(agent, tree)} ended={agent.end !== null} />
            </span>
            <span className="sub el">
              <InertText text={activityText(agent, now)} />
            </span>
          </div>
        ))}
        {agents.length > maxRows && <p className="sub">{agents.length - maxRows} more in the tree</p>}
        <TreeActions tree={tree} onDialog={onDialog} />
      </div>
    </>
  );
}

function TreeActions({
  tree,
  onDialog,
}: {
  readonly tree: TreeView;
  readonly onDialog: (kind: "cancel" | "top-up") => void;
}): ReactNode {
  const [, go] = useLocation();
  const lock = useLock("run");
  const adminLock = useLock("admin");
  const { root } = tree;
  const isPaused = root.status === "paused";
  const over = root.end ? "It has ended" : null;
  return (
    <div className="tree-acts">
      <Button
        label="Open the tree"
        icon="runs"
        size="small"
        onPress={() => go(`/runs/${segment(tree.treeId)}`)}
      />
      <Button
        label={isPaused ? "Resume" : "Pause"}
        icon={isPaused ? "play" : "pause"}
        size="small"
        locked={over ?? lock}
        onPress={() => void (isPaused ? runActions.resume : runActions.pause)(root.runId, root.agent)}
      />
      <Button
        label="Top up"
        icon="up"
        hint="T"
        size="small"
        locked={over ?? adminLock}
        onPress={() => onDialog("top-up")}
      />
      <Button
        label="Cancel"
        icon="stop"
        size="small"
        tone="danger"
        locked={over ?? lock}
        onPress={() => onDialog("cancel")}
      />
    </div>
  );
}
