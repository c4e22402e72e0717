import { type ReactNode, useState } from "react";
import type { TreeView } from "#view";
import { errorText, post } from "../api/http.ts";
import { useAgents } from "../api/queries.ts";
import { newTreeId, runActions } from "../api/run-actions.ts";
import type { AgentRecord } from "../api/records.ts";
import { useMe } from "../api/session.tsx";
import { useTree } from "../live/use-tree.ts";
import { KeyBar } from "../parts/key-bar.tsx";
import { Empty, Failure, NothingHere, Skeleton } from "../parts/states.tsx";
import { notify } from "../parts/toast.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useTitle } from "../parts/use-title.ts";
import { RunDialogs } from "../run/run-dialogs.tsx";
import { AgentPill, Composer, LimitPills } from "./composer.tsx";
import { BreakIt } from "./break-it.tsx";
import { type PlayLimits, SameFromCode } from "./same-from-code.tsx";
import { type Turn, Talk } from "./talk.tsx";
import { PlayTree } from "./play-tree.tsx";

/** The agents to talk to; the first one is opened. */
export function PlayScreen({ agent }: { readonly agent: string | null }): ReactNode {
  useTitle("Playground");
  const { data, error, refetch } = useAgents();
  if (!data)
    return error ? (
      <Failure title="The agents cannot be read" detail={errorText(error)} onRetry={() => void refetch()} />
    ) : (
      <Skeleton label="Playground" />
    );
  const [first] = data;
  const name = agent ?? first?.name;
  if (name === undefined)
    return (
      <Empty title="There is no agent yet" command="npx reeve init">
        <p>Give the runtime an agent, and it can be started here.</p>
      </Empty>
    );
  const found = data.find((each) => each.name === name);
  if (!found) return <NothingHere />;
  return <Playground key={name} agent={found} agents={data.map((each) => each.name)} />;
}

/** The tasks that were given here, in one conversation. */
function useTurns(
  agent: string,
  limits: PlayLimits,
): {
  readonly turns: readonly Turn[];
  readonly start: (text: string) => Promise<boolean>;
  readonly steer: (text: string, isAfter: boolean) => Promise<boolean>;
} {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [session] = useState(() => `play-${newTreeId()}`);
  const last = turns.at(-1);
  const start = async (text: string): Promise<boolean> => {
    const id = newTreeId();
    try {
      const { maxAgents, ...budget } = limits;
      await post("/runs", { agent, input: text, id, session, budget, spawn: { maxAgents } });
      setTurns((before) => [...before, { tree: id, text, steers: [] }]);
      return true;
    } catch (error) {
      notify(errorText(error));
      return false;
    }
  };
  const steer = async (text: string, isAfter: boolean): Promise<boolean> => {
    if (!last) return false;
    const isDone = await (isAfter ? runActions.followUp : runActions.steer)(last.tree, text);
    if (isDone) setTurns((before) => [...before.slice(0, -1), { ...last, steers: [...last.steers, text] }]);
    return isDone;
  };
  return { turns, start, steer };
}

function Playground({
  agent: record,
  agents,
}: {
  readonly agent: AgentRecord;
  readonly agents: readonly string[];
}): ReactNode {
  const { name: agent, budget } = record;
  const [limits, setLimits] = useState<PlayLimits>({
    maxCostUsd: budget?.maxCostUsd ?? 0.5,
    maxAgents: 10,
    onLimit: budget?.onLimit ?? "land",
  });
  const [dialog, setDialog] = useState<"cancel" | "top-up" | null>(null);
  const { dev } = useMe();
  const { turns, start, steer } = useTurns(agent, limits);
  const last = turns.at(-1);
  const state = useTree(last?.tree ?? null);
  const tree = state.kind === "ready" ? state.view : null;
  const isLive = last !== undefined && !(tree?.treeId === last.tree && tree.root.end !== null);
  const topUp = (): void => {
    if (tree && isLive) setDialog("top-up");
  };
  useKeys({ t: topUp });
  return (
    <>
      <h1 className="for-readers">Playground</h1>
      <div className="play-body">
        <section className="chat" aria-label="Talk">
          <Talk turns={turns} agent={agent} live={state} onTopUp={topUp} />
          <Composer
            agent={agent}
            example={dev?.example ?? ""}
            isLive={isLive}
            onStart={start}
            onSteer={steer}
          >
            <AgentPill agent={agent} agents={agents} />
            <LimitPills limits={limits} most={budget?.maxCostUsd} onChange={setLimits} />
          </Composer>
        </section>
        <aside className="play-side" aria-label="The tree">
          <TreeOrHint tree={tree} onDialog={setDialog} />
          {dev && <BreakIt tree={tree} onSteer={(text) => void steer(text, false)} />}
          <SameFromCode
            agent={agent}
            text={last?.text ?? dev?.example ?? "Prepare the report"}
            limits={limits}
          />
        </aside>
      </div>
      <KeyBar keys={keysFor(isLive)} />
      {dialog && tree && (
        <RunDialogs dialog={{ kind: dialog, agent: tree.root }} tree={tree} onClose={() => setDialog(null)} />
      )}
    </>
  );
}

/** The keys that act now. */
const keysFor = (isLive: boolean): readonly (readonly [key: string, action: string])[] =>
  isLive
    ? [
        ["↵", "steer"],
        ["⌥↵", "follow up"],
        ["A", "approve"],
        ["D", "deny"],
        ["T", "top up"],
      ]
    : [["↵", "start"]];

function TreeOrHint({
  tree,
  onDialog,
}: {
  readonly tree: TreeView | null;
  readonly onDialog: (kind: "cancel" | "top-up") => void;
}): ReactNode {
  if (tree) return <PlayTree tree={tree} onDialog={onDialog} />;
  return (
    <div className="sec">
      <p className="sub">
        The tree appears here when it starts: its agents, its cost and the questions to you.
      </p>
    </div>
  );
}
