import type { ReactNode } from "react";
import { spendOf, type TreeView } from "#view";
import { useTreeName } from "../api/queries.ts";
import { useLock } from "../api/session.tsx";
import { countText, dollars, limitDollars, span, stopwatch, tokens } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { BarSample, SpendBar } from "../parts/spend-bar.tsx";
import { StatusMark } from "../parts/status-mark.tsx";
import type { RunDialog } from "./run-dialogs.tsx";
import { typeOf } from "./tree-rows.ts";

/** The actions on the selected agent. */
export interface HeadActions {
  readonly isPaused: boolean;
  readonly hasEnded: boolean;
  readonly open: (dialog: RunDialog["kind"]) => void;
  readonly togglePause: () => void;
}

/** The state of a tree: status, money in its four parts, agents, tokens, time. */
export function RunHead({
  tree,
  now,
  actions,
}: {
  readonly tree: TreeView;
  readonly now: number;
  readonly actions: HeadActions;
}): ReactNode {
  const { root, counts } = tree;
  const name = useTreeName(tree.treeId);
  return (
    <section className="head" aria-label="The tree">
      <div className="ttl">
        <StatusMark status={root.end === null && root.asks.length > 0 ? "needs you" : root.status} />
        <h1 className="el">
          <InertText text={name ?? tree.treeId} />
        </h1>
        {name !== null && (
          <span className="mono muted">
            <InertText text={tree.treeId} />
          </span>
        )}
        <span className="pill">
          <InertText text={typeOf(root)} />
        </span>
      </div>
      <ActionButtons actions={actions} />
      <div className="money">
        <Money tree={tree} />
        <Figure name="Agents" value={String(counts.live)}>
          {tree.limits ? `of ${tree.limits.maxAgents} slots, ` : ""}
          {counts.agents} in all
        </Figure>
        <Figure name="Tokens" value={tokens(root.tokens)}>
          {countText(counts.calls, "call")}
        </Figure>
        <Figure
          name={root.end ? "Took" : "Running"}
          value={
            root.end
              ? stopwatch(tree.at - tree.startedAt, tree.at - tree.startedAt)
              : stopwatch(now - tree.startedAt)
          }
        />
        {root.limits?.deadlineAt && !root.end && (
          <Figure name="Deadline" value={`in ${span(root.limits.deadlineAt - now)}`} />
        )}
      </div>
    </section>
  );
}

function ActionButtons({ actions }: { readonly actions: HeadActions }): ReactNode {
  const [run, admin] = [useLock("run"), useLock("admin")];
  const over = actions.hasEnded ? "It has ended" : null;
  return (
    <div className="acts">
      <Button label="Steer" icon="send" hint="S" locked={over ?? run} onPress={() => actions.open("steer")} />
      <Button
        label={actions.isPaused ? "Resume" : "Pause"}
        icon={actions.isPaused ? "play" : "pause"}
        hint="P"
        locked={over ?? run}
        onPress={actions.togglePause}
      />
      <Button
        label="Top up"
        icon="up"
        hint="T"
        locked={over ?? admin}
        onPress={() => actions.open("top-up")}
      />
      <Button
        label="Cancel"
        icon="stop"
        hint="⇧C"
        tone="danger"
        locked={over ?? run}
        onPress={() => actions.open("cancel")}
      />
    </div>
  );
}

function Money({ tree }: { readonly tree: TreeView }): ReactNode {
  const spend = spendOf(tree.root, tree);
  const { settledMicros, reservedMicros, inDoubtMicros, maxCostMicros, freeMicros } = spend;
  return (
    <div>
      <SpendBar spend={spend} ended={tree.root.end !== null} big />
      <div className="leg">
        <span className="lg">
          <BarSample part="settledMicros" />
          <b>{dollars(settledMicros)}</b> spent
        </span>
        <span className="lg">
          <BarSample part="reservedMicros" />
          <b>{dollars(reservedMicros)}</b> reserved
        </span>
        {inDoubtMicros > 0 && (
          <span className="lg">
            <BarSample part="inDoubtMicros" />
            <b>{dollars(inDoubtMicros)}</b> in doubt
          </span>
        )}
        <span className="lg free">
          {maxCostMicros === null || freeMicros === null ? (
            "no limit"
          ) : (
            <>
              <b>{dollars(freeMicros)}</b> free of {limitDollars(maxCostMicros)}
            </>
          )}
        </span>
      </div>
    </div>
  );
}

function Figure({
  name,
  value,
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div>
      <div className="k">{name}</div>
      <div className="v">
        {value} <small>{children}</small>
      </div>
    </div>
  );
}
