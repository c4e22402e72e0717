import { memo, type ReactNode, useEffect, useRef } from "react";
import { activityText, type AgentView, spendOf, type TreeView } from "#view";
import { countText, stopwatch } from "../parts/amounts.ts";
import { Icon } from "../parts/icon.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { MoneyCell, type Spend } from "../parts/spend-bar.tsx";
import { type ShownStatus, StatusMark, toneOf } from "../parts/status-mark.tsx";
import { GroupLane, Lane, type TimeAxis } from "./lane.tsx";
import { type AgentRow, type GroupRow, numberOf, type TreeRow, typeOf } from "./tree-rows.ts";
import { scrollToRow, topOf, useRowWindow } from "./use-row-window.ts";

/** The status of a run on the screen. */
export const shownStatus = ({ status, activity }: AgentView): ShownStatus =>
  activity.kind === "approval" ? "needs you" : status;

interface GridProps {
  readonly tree: TreeView;
  readonly rows: readonly TreeRow[];
  readonly selected: string;
  readonly axis: TimeAxis;
  readonly now: number;
  readonly speech: ReadonlyMap<string, string>;
  readonly onSelect: (key: string) => void;
  readonly onToggle: (key: string) => void;
}

const ticks = [0, 0.2, 0.4, 0.6, 0.8] as const;

/** The agents of a tree: who, money, and a lane of time with what each does now. Only rows in view exist. */
export function TreeGrid(props: GridProps): ReactNode {
  const { rows, selected } = props;
  const grid = useRef<HTMLDivElement>(null);
  const { from, to } = useRowWindow(grid);
  const at = rows.findIndex(({ key }) => key === selected);
  useEffect(() => {
    const { current } = grid;
    if (!current) return;
    scrollToRow(current, at);
    if (current.contains(document.activeElement))
      current.querySelector<HTMLElement>('[aria-selected="true"]')?.focus({ preventScroll: true });
    // Rows that come and go above the selected one do not scroll.
  }, [selected]);
  return (
    <div className="grid" role="treegrid" aria-label="Agents" aria-rowcount={rows.length + 1} ref={grid}>
      <GridHeader axis={props.axis} hasEnded={props.tree.root.end !== null} />
      <div role="rowgroup" className="lines" style={{ height: topOf(rows.length) }}>
        {rows.map((row, index) => {
          const isSelected = index === at;
          // The selected row keeps the focus, wherever it is.
          if ((index < from || index >= to) && !isSelected) return null;
          return row.kind === "agent" ? (
            <AgentLine key={row.key} {...props} row={row} index={index} isSelected={isSelected} />
          ) : (
            <GroupLine key={row.key} {...props} row={row} index={index} isSelected={isSelected} />
          );
        })}
      </div>
    </div>
  );
}

function GridHeader({
  axis: { from, to },
  hasEnded,
}: {
  readonly axis: TimeAxis;
  readonly hasEnded: boolean;
}): ReactNode {
  return (
    <div className="cols" role="row" aria-rowindex={1}>
      <div role="columnheader">Agent</div>
      <div role="columnheader">Status</div>
      <div role="columnheader" className="c-money">
        Spent, reserved, cap
      </div>
      <div role="columnheader" className="axis">
        {ticks.map((share) => (
          <span key={share}>{stopwatch(from + share * (to - from), to - from)}</span>
        ))}
        <span>{hasEnded ? "end" : "now"}</span>
      </div>
    </div>
  );
}

interface LineProps<Row> extends GridProps {
  readonly row: Row;
  /** Its place among all rows, from 0. */
  readonly index: number;
  readonly isSelected: boolean;
}

function lineAttributes({
  row,
  index,
  isSelected,
  onSelect,
}: LineProps<TreeRow>): React.HTMLAttributes<HTMLDivElement> {
  return {
    role: "row",
    className: isSelected ? "row sel" : "row",
    tabIndex: isSelected ? 0 : -1,
    style: { top: topOf(index) },
    "aria-rowindex": index + 2,
    "aria-level": row.level,
    "aria-posinset": row.place,
    "aria-setsize": row.siblings,
    "aria-selected": isSelected,
    ...(row.isOpen !== null && { "aria-expanded": row.isOpen }),
    onClick: () => onSelect(row.key),
    onFocus: () => onSelect(row.key),
  };
}

function Fold({
  row,
  onToggle,
}: {
  readonly row: TreeRow;
  readonly onToggle: (key: string) => void;
}): ReactNode {
  return (
    <span className="fold" onClick={() => onToggle(row.key)} aria-hidden="true">
      {row.isOpen !== null && <Icon name={row.isOpen ? "down" : "right"} size={12} />}
    </span>
  );
}

const AgentLine = memo(
  function AgentLine(props: LineProps<AgentRow>): ReactNode {
    const { row, axis, tree, now, speech, onToggle } = props;
    const { agent } = row;
    const said = speech.get(agent.runId)?.trimEnd().split("\n").at(-1) ?? "";
    const below = agent.asks.filter(({ runId }) => runId !== agent.runId).length;
    return (
      <div {...lineAttributes(props)}>
        <div className="name" role="rowheader" style={{ paddingLeft: `${8 + 18 * (row.level - 1)}px` }}>
          {row.level > 1 && <span className="twig" />}
          <Fold row={row} onToggle={onToggle} />
          <b className="el">
            <InertText text={typeOf(agent)} />
          </b>
          <span className="mono muted">{numberOf(agent)}</span>
          {agent.priority !== "normal" && <span className="pill">{agent.priority}</span>}
          {below > 0 && (
            <span className="st ask" title={`${countText(below, "question")} below it`}>
              ▲ {below}
              <span className="for-readers"> below it {below === 1 ? "needs" : "need"} you</span>
            </span>
          )}
        </div>
        <div role="gridcell">
          <StatusMark status={shownStatus(agent)} />
        </div>
        <div className="m" role="gridcell">
          <MoneyCell spend={spendOf(agent, tree)} ended={agent.end !== null} />
        </div>
        <div className="lane" role="gridcell">
          <Lane agent={agent} axis={axis} />
          <span className={agent.end ? "act el muted" : "act el"}>
            <InertText text={said === "" ? activityText(agent, now) : `says: “${said.slice(-120)}”`} />
          </span>
        </div>
      </div>
    );
  },
  (a, b) =>
    a.row.agent === b.row.agent &&
    a.index === b.index &&
    a.isSelected === b.isSelected &&
    a.row.isOpen === b.row.isOpen &&
    a.row.siblings === b.row.siblings &&
    a.row.place === b.row.place &&
    a.axis === b.axis &&
    a.now === b.now &&
    a.tree.limits === b.tree.limits &&
    a.speech.get(a.row.key) === b.speech.get(b.row.key),
);

function GroupLine(props: LineProps<GroupRow>): ReactNode {
  const { row, axis, onToggle } = props;
  const { agents, name } = row;
  const sum = (of: (agent: AgentView) => number): number => agents.reduce((all, agent) => all + of(agent), 0);
  const counts = [...Map.groupBy(agents, shownStatus)].map(
    ([status, each]) => [status, each.length] as const,
  );
  const [first, last] = [agents[0], agents.at(-1)];
  return (
    <div {...lineAttributes(props)}>
      <div className="name" role="rowheader" style={{ paddingLeft: `${8 + 18 * (row.level - 1)}px` }}>
        <span className="twig" />
        <Fold row={row} onToggle={onToggle} />
        <b className="el">
          <InertText text={name} /> ×{agents.length}
        </b>
        {first && last && (
          <span className="mono muted">
            {numberOf(first)}…{numberOf(last).slice(1)}
          </span>
        )}
      </div>
      <div role="gridcell">
        <span
          className="mix"
          role="img"
          aria-label={counts.map(([status, each]) => `${each} ${status}`).join(", ")}
        >
          {counts.map(([status, each]) => (
            <i key={status} className={`tone-${toneOf(status)}`} style={{ flex: each }} />
          ))}
        </span>
      </div>
      <div className="m" role="gridcell">
        <MoneyCell spend={sumOf(agents)} ended={agents.every(({ end }) => end !== null)} />
      </div>
      <div className="lane" role="gridcell">
        <GroupLane agents={agents} axis={axis} />
        <span className="act el muted">
          {counts.map(([status, each]) => `${each} ${status}`).join(" · ")},{" "}
          {countText(
            sum(({ own }) => own.calls),
            "call",
          )}
        </span>
      </div>
    </div>
  );
}

/** The money of several runs, against the sum of their limits. */
function sumOf(agents: readonly AgentView[]): Spend {
  const spends = agents.map((agent) => spendOf(agent));
  const sum = (of: (spend: Spend) => number): number => spends.reduce((all, spend) => all + of(spend), 0);
  return {
    settledMicros: sum(({ settledMicros }) => settledMicros),
    inDoubtMicros: sum(({ inDoubtMicros }) => inDoubtMicros),
    reservedMicros: sum(({ reservedMicros }) => reservedMicros),
    maxCostMicros: spends.every(({ maxCostMicros }) => maxCostMicros !== null)
      ? sum(({ maxCostMicros }) => maxCostMicros ?? 0)
      : null,
  };
}
