import type { AgentView } from "#view";

/** Siblings of one agent from which on they are one row. */
const foldFrom = 6;

interface RowBase {
  /** Stable while the run is shown. */
  readonly key: string;
  readonly level: number;
  /** Place among its siblings, from 1, and their number. */
  readonly place: number;
  readonly siblings: number;
  /** Null if it has no children. */
  readonly isOpen: boolean | null;
}

/** One agent. */
export interface AgentRow extends RowBase {
  readonly kind: "agent";
  readonly agent: AgentView;
}

/** Siblings of the same agent, folded into one row. */
export interface GroupRow extends RowBase {
  readonly kind: "group";
  readonly name: string;
  readonly agents: readonly AgentView[];
}

export type TreeRow = AgentRow | GroupRow;

/** The agent's type, which siblings share. */
export const typeOf = ({ agent }: AgentView): string => agent.split(":", 1)[0] ?? agent;

/** The number of a run in its tree, such as `~29`. */
export const numberOf = ({ runId }: AgentView): string => `~${runId.slice(runId.lastIndexOf("~") + 1)}`;

/** Whether the agent, or a descendant, waits for approval or has failed. */
const mustShow = ({ asks, status }: AgentView): boolean => asks.length > 0 || status === "failed";

type Item = { readonly agent: AgentView } | { readonly group: readonly AgentView[] };

/** Groups six or more equal siblings. One that failed or waits for approval is never grouped. */
function toItems(children: readonly AgentView[]): readonly Item[] {
  const quiet = children.filter((child) => !mustShow(child));
  const groups = Map.groupBy(quiet, typeOf);
  const items: Item[] = [];
  const seen = new Set<string>();
  for (const agent of children) {
    const group = mustShow(agent) ? [] : (groups.get(typeOf(agent)) ?? []);
    if (group.length < foldFrom) items.push({ agent });
    else if (!seen.has(typeOf(agent))) items.push({ group });
    if (group.length >= foldFrom) seen.add(typeOf(agent));
  }
  return items;
}

/**
 * Returns the rows of a tree from top to bottom. `toggled`: keys whose fold differs from the default; groups start
 * closed.
 */
export function toRows(root: AgentView, toggled: ReadonlySet<string>): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const addAgent = (agent: AgentView, base: Pick<RowBase, "level" | "place" | "siblings">): void => {
    const key = agent.runId;
    const isOpen = agent.children.length === 0 ? null : !toggled.has(key);
    rows.push({ kind: "agent", key, agent, isOpen, ...base });
    if (isOpen) addAll(toItems(agent.children), agent.runId, base.level + 1);
  };
  const addAll = (items: readonly Item[], parent: string, level: number): void => {
    for (const [index, item] of items.entries()) {
      const base = { level, place: index + 1, siblings: items.length };
      if ("agent" in item) addAgent(item.agent, base);
      else addGroup(item.group, `${parent} ${item.group[0] ? typeOf(item.group[0]) : ""}`, base);
    }
  };
  const addGroup = (
    agents: readonly AgentView[],
    key: string,
    base: Pick<RowBase, "level" | "place" | "siblings">,
  ): void => {
    const [first] = agents;
    if (!first) return;
    const isOpen = toggled.has(key);
    rows.push({ kind: "group", key, name: typeOf(first), agents, isOpen, ...base });
    if (!isOpen) return;
    for (const [index, agent] of agents.entries())
      addAgent(agent, { level: base.level + 1, place: index + 1, siblings: agents.length });
  };
  addAgent(root, { level: 1, place: 1, siblings: 1 });
  return rows;
}
