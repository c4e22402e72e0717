import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { errorText, segment } from "../api/http.ts";
import { useAgents } from "../api/queries.ts";
import { useWeek } from "../api/record-queries.ts";
import type { AgentRecord, ToolRecord } from "../api/records.ts";
import { count, dollars } from "../parts/amounts.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { Failure, NothingHere, Skeleton } from "../parts/states.tsx";
import { useListKeys } from "../parts/use-list-keys.ts";
import { useTitle } from "../parts/use-title.ts";
import { budgetText, RiskPill } from "./agent-parts.tsx";

const keys = [
  ["J K", "move"],
  ["↵", "open"],
  ["⌫", "all agents"],
] as const;

/** One agent: its rights, its prompt, and its runs and cost of the last week. */
export function AgentScreen({ name }: { readonly name: string }): ReactNode {
  useTitle(name);
  const [, go] = useLocation();
  const { data, error, refetch } = useAgents();
  const list = useListKeys(() => go("/agents"));
  if (!data && error)
    return (
      <Failure title="The agent cannot be read" detail={errorText(error)} onRetry={() => void refetch()} />
    );
  if (!data) return <Skeleton label="Agent" />;
  const agent = data.find((each) => each.name === name);
  if (!agent) return <NothingHere />;
  return (
    <>
      <div className="record-page" ref={list}>
        <AgentHead agent={agent} />
        <Week name={name} />
        <Tools tools={agent.tools} />
        <Limits agent={agent} />
        <InstructionsOf agent={agent} />
      </div>
      <KeyBar keys={keys} right={`version ${agent.version}`} />
    </>
  );
}

function AgentHead({ agent: { name, description, model } }: { readonly agent: AgentRecord }): ReactNode {
  const [, go] = useLocation();
  return (
    <header className="record-head">
      <div>
        <h1>
          <InertText text={name} />
        </h1>
        <p className="sub">
          <InertText text={description ?? "no description"} />
          {model !== null && (
            <>
              {" · "}
              <span className="mono">
                <InertText text={model} />
              </span>
            </>
          )}
        </p>
      </div>
      <Button label="Runs" icon="runs" onPress={() => go(`/runs?agent=${segment(name)}`)} />
      <Button label="Start it" icon="play" tone="primary" onPress={() => go(`/play/${segment(name)}`)} />
    </header>
  );
}

function Week({ name }: { readonly name: string }): ReactNode {
  const week = useWeek(name).data;
  const sum = week?.byAgent.get(name);
  const runs = sum?.runs ?? 0;
  const facts: readonly (readonly [name: string, value: string])[] = [
    ["Runs in 7 days", `${count(runs)}${week?.isPart ? " or more" : ""}`],
    ["Money in 7 days", dollars(sum?.costMicros ?? 0)],
    ["One run, on average", runs === 0 ? "–" : dollars(Math.round((sum?.costMicros ?? 0) / runs))],
  ];
  return (
    <section aria-label="Last week">
      <dl className="figures">
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{week ? value : "…"}</dd>
          </div>
        ))}
      </dl>
      <p className="muted">The cost of a run includes its children.</p>
    </section>
  );
}

function Tools({ tools }: { readonly tools: readonly ToolRecord[] }): ReactNode {
  return (
    <section aria-labelledby="agent-tools">
      <h2 id="agent-tools">Tools</h2>
      {tools.length === 0 ? (
        <p className="sub">No tools: the agent can only answer.</p>
      ) : (
        <table className="runs records boxed">
          <thead>
            <tr>
              <th className="c-tool">Tool</th>
              <th className="c-risk">Risk</th>
              <th className="c-flow">Content</th>
              <th className="c-flow">Egress</th>
              <th>Description</th>
            </tr>
          </thead>
          <tbody>
            {tools.map((tool) => (
              <tr key={tool.name}>
                <td className="mono el">
                  <InertText text={tool.name} />
                </td>
                <td>
                  <RiskPill risk={tool.risk} />
                </td>
                <td className="sub">{bringsText(tool)}</td>
                <td className="sub">{tool.egress ? "yes" : "no"}</td>
                <td className="sub wraps">
                  <InertText text={tool.description} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function bringsText({ origin, trust, sensitivity }: ToolRecord): string {
  const marks = [trust === "untrusted" && "untrusted", sensitivity === "private" && "private"].filter(
    Boolean,
  );
  return `${origin}${marks.length === 0 ? "" : `, ${marks.join(", ")}`}`;
}

const names = (list: readonly string[]): string => (list.length === 0 ? "none" : list.join(", "));

function Limits({ agent }: { readonly agent: AgentRecord }): ReactNode {
  const { team, budget, retention, guardrails, middleware } = agent;
  return (
    <section aria-labelledby="agent-limits">
      <h2 id="agent-limits">Team, limits and layers</h2>
      <dl className="kv boxed">
        <dt>team</dt>
        <dd>
          {team.length === 0
            ? "it spawns no other agent"
            : team.map((each, index) => (
                <span key={each}>
                  {index > 0 && ", "}
                  <Link className="link" data-item="" href={`/agents/${segment(each)}`}>
                    <InertText text={each} />
                  </Link>
                </span>
              ))}
        </dd>
        <dt>run limit</dt>
        <dd>{budgetText(budget)}</dd>
        <dt>retention</dt>
        <dd>{retention ?? "permanent at the root, else run"}</dd>
        <dt>guardrails</dt>
        <dd>
          <InertText text={names(guardrails)} />
        </dd>
        <dt>middleware</dt>
        <dd>
          <InertText text={names(middleware)} />
        </dd>
      </dl>
    </section>
  );
}

function InstructionsOf({ agent: { instructions } }: { readonly agent: AgentRecord }): ReactNode {
  return (
    <section aria-labelledby="agent-instructions">
      <h2 id="agent-instructions">Instructions</h2>
      {instructions === undefined && (
        <p className="sub">Instructions are content: your key lacks the scope content.</p>
      )}
      {instructions === null && <p className="sub">None, or computed for each turn.</p>}
      {typeof instructions === "string" && (
        <pre className="boxed text">
          <InertText text={instructions} />
        </pre>
      )}
    </section>
  );
}
