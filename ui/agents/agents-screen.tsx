import type { ReactNode } from "react";
import { Link } from "wouter";
import { errorText, segment } from "../api/http.ts";
import { useAgents } from "../api/queries.ts";
import { useWeek, type WeekOfAgents } from "../api/record-queries.ts";
import type { AgentRecord } from "../api/records.ts";
import { count, countText, dollars } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { Empty, Failure, Skeleton } from "../parts/states.tsx";
import { useListKeys } from "../parts/use-list-keys.ts";
import { useTitle } from "../parts/use-title.ts";
import { budgetText, RiskPill, worstRisk } from "./agent-parts.tsx";

const keys = [
  ["J K", "move"],
  ["↵", "open"],
  ["?", "all keys"],
] as const;

/** All agents that can be started: what each may do, and its runs and money of the last week. */
export function AgentsScreen(): ReactNode {
  useTitle("Agents");
  const { data, error, refetch } = useAgents();
  const week = useWeek(null).data;
  const list = useListKeys();
  return (
    <>
      <h1 className="for-readers">Agents</h1>
      <div className="wrap first" ref={list}>
        {!data && error && (
          <Failure
            title="The agents cannot be read"
            detail={errorText(error)}
            onRetry={() => void refetch()}
          />
        )}
        {!data && !error && <Skeleton label="Agents" />}
        {data?.length === 0 && (
          <Empty title="No agents yet" command="npx reeve init">
            <p>The agents of the server&apos;s runtime appear here.</p>
          </Empty>
        )}
        {data && data.length > 0 && <AgentTable agents={data} week={week} />}
      </div>
      <KeyBar keys={keys} right={data ? footOf(data.length, week) : ""} />
    </>
  );
}

const footOf = (agents: number, week: WeekOfAgents | undefined): string =>
  `${countText(agents, "agent")}${week?.isPart ? " · week: the newest 1,000 runs" : ""}`;

function AgentTable({
  agents,
  week,
}: {
  readonly agents: readonly AgentRecord[];
  readonly week: WeekOfAgents | undefined;
}): ReactNode {
  return (
    <table className="runs records">
      <thead>
        <tr>
          <th>Agent</th>
          <th className="c-model">Model</th>
          <th className="c-tools">Tools</th>
          <th className="c-team">Team</th>
          <th className="c-cap">Limit of a run</th>
          <th className="c-week r">Runs, 7 days</th>
          <th className="c-week r">Money, 7 days</th>
        </tr>
      </thead>
      <tbody>
        {agents.map((agent) => (
          <AgentRow key={agent.name} agent={agent} week={week} />
        ))}
      </tbody>
    </table>
  );
}

function AgentRow({
  agent,
  week,
}: {
  readonly agent: AgentRecord;
  readonly week: WeekOfAgents | undefined;
}): ReactNode {
  const { name, description, model, tools, team, budget } = agent;
  const sum = week?.byAgent.get(name);
  return (
    <tr>
      <td>
        <div className="t">
          <Link href={`/agents/${segment(name)}`} className="nw" data-item="">
            <InertText text={name} />
          </Link>
          <span className="muted el">
            <InertText text={description ?? ""} />
          </span>
        </div>
      </td>
      <td className="sub el">
        <InertText text={model ?? "–"} />
      </td>
      <td>
        {tools.length === 0 ? (
          <span className="muted">none</span>
        ) : (
          <>
            {count(tools.length)} <RiskPill risk={worstRisk(tools)} />
          </>
        )}
      </td>
      <td className="sub el">{team.length === 0 ? "–" : <InertText text={team.join(", ")} />}</td>
      <td className="sub el">{budgetText(budget)}</td>
      <td className="r">{week ? count(sum?.runs ?? 0) : ""}</td>
      <td className="r">{week ? dollars(sum?.costMicros ?? 0) : ""}</td>
    </tr>
  );
}
