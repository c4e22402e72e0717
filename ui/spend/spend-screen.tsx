import { type ReactNode, useMemo } from "react";
import { useSearchParams } from "wouter";
import { errorText } from "../api/http.ts";
import { useTenant } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import { InertText } from "../parts/inert-text.tsx";
import { KeyBar } from "../parts/key-bar.tsx";
import { Empty, Failure, Skeleton } from "../parts/states.tsx";
import { notify } from "../parts/toast.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { useNow } from "../parts/use-now.ts";
import { useTitle } from "../parts/use-title.ts";
import { AgentTable } from "./agent-table.tsx";
import { colorOf, DayBars, type Series } from "./day-bars.tsx";
import { saveCsv, useSpend } from "./queries.ts";
import { exactDollars, type Group, groups, type Period, periodOf, type Range, ranges } from "./range.ts";
import type { Figures, SpendSum } from "./records.ts";
import { SpendSide } from "./spend-side.tsx";
// oxlint-disable-next-line import/no-unassigned-import -- the styles of this chunk
import "./spend.css";
import { TreesBehind } from "./trees-behind.tsx";

const rangeLabels: Readonly<Record<Range, string>> = {
  day: "Day",
  "14d": "14 days",
  "30d": "30 days",
  month: "Month",
};
const groupLabels: Readonly<Record<Group, string>> = { agent: "Agent", model: "Model", user: "User" };

const keys = [
  ["1 2 3", "by"],
  ["[ ]", "earlier, later"],
  ["← →", "between bars"],
  ["↵", "runs behind a bar"],
] as const;

const dayMs = 86_400_000;
const shownGroups = 4;
/** Users that are read one by one. All others are read as one sum. */
const topUsers = 20;

/** The state of the screen, all of it in the address. */
interface Choice {
  readonly range: Range;
  readonly by: Group;
  readonly back: number;
  readonly at: string | null;
}

function useChoice(): readonly [Choice, (changed: Partial<Choice>) => void] {
  const [params, setParams] = useSearchParams();
  const choice: Choice = {
    range: ranges.find((each) => each === params.get("range")) ?? "14d",
    by: groups.find((each) => each === params.get("by")) ?? "model",
    back: Math.max(0, Math.floor(Number(params.get("back"))) || 0),
    at: params.get("at"),
  };
  const change = (changed: Partial<Choice>): void => {
    const { range, by, back, at } = { ...choice, ...changed };
    setParams(
      { range, by, ...(back > 0 && { back: String(back) }), ...(at !== null && { at }) },
      { replace: true },
    );
  };
  return [choice, change];
}

/** Money by day, model, agent and user; limits; refusals; calls in doubt. */
export function SpendScreen(): ReactNode {
  useTitle("Spend");
  const [choice, change] = useChoice();
  const { range, by, back, at } = choice;
  // The period changes with the day, not with every second.
  const today = Math.floor(useNow() / dayMs);
  const period = useMemo(() => periodOf(range, back, today * dayMs), [range, back, today]);
  const chart = useSpend({ ...period, by: `${period.unit},${by}`, ...(by === "user" && { topUsers }) });
  const table = useSpend({ ...period, by: "agent,model" });
  useKeys({
    "1": () => change({ by: "agent" }),
    "2": () => change({ by: "model" }),
    "3": () => change({ by: "user" }),
    "[": () => change({ back: back + 1, at: null }),
    "]": () => change({ back: Math.max(0, back - 1), at: null }),
    Escape: () => change({ at: null }),
  });
  const error = chart.error ?? table.error;
  return (
    <>
      <h1 className="for-readers">Spend</h1>
      <Controls choice={choice} period={period} onChange={change} />
      {chart.data && table.data ? (
        <div className="spend">
          <SpendBody
            period={period}
            series={seriesOf(chart.data.items, period, by)}
            items={table.data.items}
            at={at}
            onSelect={(key) => change({ at: key === at ? null : key })}
          />
          <SpendSide period={period} figures={totalOf(table.data.items)} />
        </div>
      ) : error ? (
        <Failure
          title="The spend cannot be read"
          detail={errorText(error)}
          onRetry={() => void Promise.all([chart.refetch(), table.refetch()])}
        />
      ) : (
        <Skeleton label="Spend" />
      )}
      <KeyBar keys={keys} right="days and hours of UTC" />
    </>
  );
}

function SpendBody({
  period,
  series,
  items,
  at,
  onSelect,
}: {
  readonly period: Period;
  readonly series: readonly Series[];
  readonly items: readonly SpendSum[];
  readonly at: string | null;
  readonly onSelect: (key: string) => void;
}): ReactNode {
  const { budget } = useTenant().data ?? { budget: null };
  const { settledMicros, inDoubtMicros } = totalOf(items);
  const column = period.columns.find(({ key }) => key === at);
  const limitMicros = period.unit === "day" && budget?.per === "day" ? budget.maxCostMicros : null;
  if (items.length === 0)
    return (
      <Empty title={`Nothing was spent ${period.text}`} command={'npx reeve run lead "Prepare the report"'}>
        <p>Money appears here with the first model call, to the micro-dollar.</p>
      </Empty>
    );
  return (
    <div className="spend-main">
      <section className="card" aria-label="By time">
        <header>
          <h2>
            {exactDollars(settledMicros + inDoubtMicros)} {period.text}
            {inDoubtMicros > 0 && (
              <small className="muted"> {exactDollars(inDoubtMicros)} of it in doubt</small>
            )}
          </h2>
          <ul className="legend">
            {series.map(({ name, label }, index) => (
              <li key={name}>
                <i className={colorOf(index)} aria-hidden="true" />
                <InertText text={label} />
              </li>
            ))}
          </ul>
        </header>
        <DayBars
          period={period}
          series={series}
          limitMicros={limitMicros}
          selected={at}
          onSelect={onSelect}
        />
      </section>
      {column && <TreesBehind column={column} onClose={() => onSelect(column.key)} />}
      <AgentTable items={items} />
    </div>
  );
}

const spentOf = ({ settledMicros, inDoubtMicros }: SpendSum): number => settledMicros + inDoubtMicros;

function totalOf(items: readonly SpendSum[]): Figures {
  const sum = (figure: keyof Figures): number => items.reduce((all, each) => all + each[figure], 0);
  return {
    calls: sum("calls"),
    settledMicros: sum("settledMicros"),
    inDoubtMicros: sum("inDoubtMicros"),
    runs: sum("runs"),
    stopped: sum("stopped"),
    denied: sum("denied"),
  };
}

/** Returns the most expensive groups with their cost per column; the others are merged. */
function seriesOf(items: readonly SpendSum[], { columns, unit }: Period, by: Group): readonly Series[] {
  const [named, unnamed] = [
    items.filter((item) => item[by] !== undefined),
    items.filter((item) => item[by] === undefined),
  ];
  const byGroup = [...Map.groupBy(named, (item) => item[by] ?? "")]
    .map(([name, sums]) => ({ name, sums, spent: sums.reduce((all, sum) => all + spentOf(sum), 0) }))
    .filter(({ spent }) => spent > 0)
    .toSorted((a, b) => b.spent - a.spent);
  const toSeries = (name: string, label: string, sums: readonly SpendSum[]): Series => {
    const inColumn = Map.groupBy(sums, (sum) => sum[unit]);
    const micros = columns.map(({ key }) =>
      (inColumn.get(key) ?? []).reduce((all, sum) => all + spentOf(sum), 0),
    );
    return { name, label, micros };
  };
  const rest = [...byGroup.slice(shownGroups).flatMap(({ sums }) => sums), ...unnamed];
  const restLabel = unnamed.length > 0 ? "all others" : `${byGroup.length - shownGroups} others`;
  return [
    ...byGroup
      .slice(0, shownGroups)
      .map(({ name, sums }) => toSeries(`g ${name}`, name === "" ? "none" : name, sums)),
    ...(rest.length > 0 ? [toSeries("others", restLabel, rest)] : []),
  ];
}

function Controls({
  choice,
  period,
  onChange,
}: {
  readonly choice: Choice;
  readonly period: Period;
  readonly onChange: (changed: Partial<Choice>) => void;
}): ReactNode {
  const save = (): void => {
    const wanted = { from: period.from, to: period.to, by: `${period.unit},${choice.by}` };
    saveCsv(wanted).catch((error: unknown) => notify(errorText(error)));
  };
  return (
    <div className="tools">
      <div className="seg" role="group" aria-label="Time">
        {ranges.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === choice.range}
            onClick={() => onChange({ range: each, back: 0, at: null })}
          >
            {rangeLabels[each]}
          </button>
        ))}
      </div>
      <span className="sub">by</span>
      <div className="seg" role="group" aria-label="By">
        {groups.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === choice.by}
            onClick={() => onChange({ by: each })}
          >
            {groupLabels[each]}
          </button>
        ))}
      </div>
      <span className="sub right">Exact to the micro-dollar. Nothing is sampled.</span>
      <Button label="CSV" size="small" onPress={save} />
    </div>
  );
}
