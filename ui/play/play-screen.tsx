import { type KeyboardEvent, type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import type { TreeView } from "#view";
import { errorText, post, segment } from "../api/http.ts";
import { useAgents } from "../api/queries.ts";
import { newTreeId, runActions } from "../api/run-actions.ts";
import { useLock } from "../api/session.tsx";
import { useTree } from "../live/use-tree.ts";
import { Button } from "../parts/button.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { Empty, Failure, NothingHere, Skeleton } from "../parts/states.tsx";
import { notify } from "../parts/toast.tsx";
import { useTitle } from "../parts/use-title.ts";
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
  if (!data.some((each) => each.name === name)) return <NothingHere />;
  return <Playground key={name} agent={name} agents={data.map((each) => each.name)} />;
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
      const { maxCostUsd, maxAgents } = limits;
      await post("/runs", { agent, input: text, id, session, budget: { maxCostUsd }, spawn: { maxAgents } });
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
  agent,
  agents,
}: {
  readonly agent: string;
  readonly agents: readonly string[];
}): ReactNode {
  const [, go] = useLocation();
  const [limits, setLimits] = useState<PlayLimits>({ maxCostUsd: 0.5, maxAgents: 10 });
  const { turns, start, steer } = useTurns(agent, limits);
  const last = turns.at(-1);
  const state = useTree(last?.tree ?? null);
  const tree = state.kind === "ready" ? state.view : null;
  const isLive = last !== undefined && !(tree?.treeId === last.tree && tree.root.end !== null);
  return (
    <>
      <h1 className="for-readers">Playground</h1>
      <div className="play-body">
        <section className="chat" aria-label="Talk">
          <Talk turns={turns} agent={agent} live={state} />
          <Composer agent={agent} isLive={isLive} onStart={start} onSteer={steer}>
            <select
              aria-label="Agent"
              className="pill"
              value={agent}
              onChange={({ target }) => go(`/play/${segment(target.value)}`)}
            >
              {agents.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
            <LimitPills limits={limits} onChange={setLimits} />
          </Composer>
        </section>
        <aside className="play-side" aria-label="The tree">
          <TreeOrHint tree={tree} />
          <SameFromCode agent={agent} text={last?.text ?? "Prepare the report"} limits={limits} />
        </aside>
      </div>
      <KeyBar
        keys={[
          ["↵", isLive ? "steer" : "start"],
          ["⌥↵", "after it"],
          ["A", "approve"],
          ["D", "deny"],
        ]}
      />
    </>
  );
}

function TreeOrHint({ tree }: { readonly tree: TreeView | null }): ReactNode {
  if (tree) return <PlayTree tree={tree} />;
  return (
    <div className="sec">
      <p className="sub">
        The tree appears here as soon as it begins: who works, what it costs, and what waits for you.
      </p>
    </div>
  );
}

function LimitPills({
  limits,
  onChange,
}: {
  readonly limits: PlayLimits;
  readonly onChange: (limits: PlayLimits) => void;
}): ReactNode {
  return (
    <>
      <label className="pill">
        at most $
        <input
          type="number"
          aria-label="Most dollars"
          min="0.01"
          step="0.01"
          value={limits.maxCostUsd}
          onChange={({ target }) => onChange({ ...limits, maxCostUsd: target.valueAsNumber || 0 })}
        />
      </label>
      <label className="pill">
        <input
          type="number"
          aria-label="Most agents"
          min="1"
          value={limits.maxAgents}
          onChange={({ target }) => onChange({ ...limits, maxAgents: target.valueAsNumber || 1 })}
        />
        agents
      </label>
    </>
  );
}

function Composer({
  agent,
  isLive,
  onStart,
  onSteer,
  children,
}: {
  readonly agent: string;
  readonly isLive: boolean;
  readonly onStart: (text: string) => Promise<boolean>;
  readonly onSteer: (text: string, isAfter: boolean) => Promise<boolean>;
  readonly children: ReactNode;
}): ReactNode {
  const [text, setText] = useState("");
  const lock = useLock("run");
  const send = async (isAfter: boolean): Promise<void> => {
    const given = text.trim();
    if (given === "" || lock !== null) return;
    if (await (isLive ? onSteer(given, isAfter) : onStart(given))) setText("");
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send(event.altKey);
  };
  const hint = isLive ? `Steer ${agent} while it works, or say what comes after …` : `Ask ${agent} …`;
  return (
    <div className="comp">
      <textarea
        className="box"
        aria-label={isLive ? "Steer" : "Task"}
        rows={2}
        placeholder={hint}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={press}
      />
      <div className="opts">
        {children}
        <div className="spring" />
        {isLive && (
          <Button label="After it" hint="⌥↵" size="small" locked={lock} onPress={() => void send(true)} />
        )}
        <Button
          label={isLive ? "Steer" : "Start"}
          icon="send"
          hint="↵"
          size="small"
          tone="primary"
          locked={lock}
          onPress={() => void send(false)}
        />
      </div>
    </div>
  );
}
