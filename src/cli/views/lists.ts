import { AgentId, type ApiKeyRecord, type Micros, type RunRecord, type SessionHead } from "#kernel";
import { duration, moment, usd, clean, reasonText, statusText } from "#view";
import type { AgentEntry } from "../client/reeve-client.ts";
import { type Column, table } from "../text/table.ts";
import type { Screen } from "./screen.ts";

/** Money that most runs have none of: shown where there is some. */
const moneyColumns: readonly { readonly title: string; readonly amount: (run: RunRecord) => Micros }[] = [
  { title: "in doubt", amount: ({ inDoubtMicros }) => inDoubtMicros },
  { title: "reserved", amount: ({ reservedMicros }) => reservedMicros },
];

const moneyColumn = ({ title, amount }: (typeof moneyColumns)[number]): Column<RunRecord> => ({
  title,
  text: (run) => (amount(run) > 0 ? usd(amount(run)) : ""),
  align: "right",
});

/** Formats runs, one line each. Cost in doubt and reserved cost are separate. */
export function runLines(runs: readonly RunRecord[], screen: Screen): readonly string[] {
  if (runs.length === 0) return ["no runs"];
  const columns: readonly Column<RunRecord>[] = [
    {
      title: "id",
      text: ({ runId, parentRunId, treeId }) => (parentRunId === null ? treeId : runId),
      shrinkTo: 12,
    },
    { title: "agent", text: ({ agentId }) => AgentId.type(agentId), shrinkTo: 8 },
    {
      title: "status",
      text: ({ status }) => statusText(status).text,
      tone: ({ status }) => statusText(status).tone,
    },
    { title: "cost", text: ({ costMicros }) => usd(costMicros), align: "right" },
    ...moneyColumns.filter(({ amount }) => runs.some((run) => amount(run) > 0)).map(moneyColumn),
    { title: "started", text: ({ startedAt }) => moment(startedAt) },
    {
      title: "took",
      text: ({ startedAt, endedAt }) => duration((endedAt ?? screen.now) - startedAt),
      align: "right",
    },
    {
      title: "stopped by",
      text: ({ stopReason }) => (stopReason ? reasonText(stopReason) : ""),
      shrinkTo: 6,
    },
  ];
  return table(columns, runs, screen);
}

/** Agents, one line each. */
export function agentLines(agents: readonly AgentEntry[], screen: Screen): readonly string[] {
  const columns: readonly Column<AgentEntry>[] = [
    { title: "agent", text: ({ name }) => name },
    { title: "version", text: ({ version }) => clean(version) },
    { title: "description", text: ({ description }) => clean(description ?? ""), shrinkTo: 12 },
  ];
  return agents.length === 0 ? ["no agents"] : table(columns, agents, screen);
}

/** API keys, one line each. */
export function keyLines(keys: readonly ApiKeyRecord[], screen: Screen): readonly string[] {
  const columns: readonly Column<ApiKeyRecord>[] = [
    { title: "key", text: ({ id }) => id },
    { title: "user", text: ({ user }) => user ?? "", shrinkTo: 8 },
    { title: "scopes", text: ({ scopes }) => scopes.join(",") },
    { title: "expires", text: ({ expiresAt }) => moment(expiresAt) },
  ];
  return keys.length === 0 ? ["no keys"] : table(columns, keys, screen);
}

/** Sessions, one line each. */
export function sessionLines(sessions: readonly SessionHead[], screen: Screen): readonly string[] {
  const columns: readonly Column<SessionHead>[] = [
    { title: "session", text: ({ id }) => id, shrinkTo: 12 },
    { title: "user", text: ({ userId }) => userId ?? "", shrinkTo: 8 },
    { title: "started", text: ({ startedAt }) => moment(startedAt) },
  ];
  return sessions.length === 0 ? ["no sessions"] : table(columns, sessions, screen);
}
