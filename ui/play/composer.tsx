import { type KeyboardEvent, type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import { segment } from "../api/http.ts";
import { useLock } from "../api/session.tsx";
import { Button } from "../parts/button.tsx";
import type { PlayLimits } from "./same-from-code.tsx";

/** The choice of the agent to talk to. */
export function AgentPill({
  agent,
  agents,
}: {
  readonly agent: string;
  readonly agents: readonly string[];
}): ReactNode {
  const [, go] = useLocation();
  return (
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
  );
}

/** The limits of the next tree. */
export function LimitPills({
  limits,
  most,
  onChange,
}: {
  readonly limits: PlayLimits;
  /** The agent's own limit. Default: it has none. */
  readonly most: number | undefined;
  readonly onChange: (limits: PlayLimits) => void;
}): ReactNode {
  return (
    <>
      <label className="pill">
        at most $
        <input
          type="number"
          aria-label="Maximum dollars"
          min="0.01"
          max={most}
          step="0.01"
          value={limits.maxCostUsd}
          onChange={({ target }) => onChange({ ...limits, maxCostUsd: target.valueAsNumber || 0 })}
        />
        then
        <select
          aria-label="At the limit"
          value={limits.onLimit}
          onChange={({ target }) =>
            onChange({ ...limits, onLimit: target.value === "wait" ? "wait" : "land" })
          }
        >
          <option value="wait">wait</option>
          <option value="land">land</option>
        </select>
      </label>
      <label className="pill">
        <input
          type="number"
          aria-label="Maximum agents"
          min="1"
          value={limits.maxAgents}
          onChange={({ target }) => onChange({ ...limits, maxAgents: target.valueAsNumber || 1 })}
        />
        agents
      </label>
      <Link
        className="pill"
        href="/approvals"
        title="Calls that need approval wait for a person, here and in the inbox"
      >
        people approve
      </Link>
    </>
  );
}

/** The box of a task. While a tree works, it steers. */
export function Composer({
  agent,
  example,
  isLive,
  onStart,
  onSteer,
  children,
}: {
  readonly agent: string;
  /** The first task, to be changed or sent. */
  readonly example: string;
  readonly isLive: boolean;
  readonly onStart: (text: string) => Promise<boolean>;
  readonly onSteer: (text: string, isAfter: boolean) => Promise<boolean>;
  readonly children: ReactNode;
}): ReactNode {
  const [text, setText] = useState(example);
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
  const hint = isLive ? `Steer ${agent} now, or queue a follow-up …` : `Ask ${agent} …`;
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
        <div className="send">
          {isLive && (
            <Button label="Follow up" hint="⌥↵" size="small" locked={lock} onPress={() => void send(true)} />
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
    </div>
  );
}
