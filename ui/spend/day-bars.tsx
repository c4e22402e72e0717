import type { KeyboardEvent, ReactNode } from "react";
import { limitDollars } from "../parts/amounts.ts";
import { InertText } from "../parts/inert-text.tsx";
import { exactDollars, type Period } from "./range.ts";

/** One group of the chart, with its cost per column. */
export interface Series {
  readonly name: string;
  readonly label: string;
  readonly micros: readonly number[];
}

const [width, height] = [760, 190];

/** A round amount that is at least this. */
function roundUp(micros: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(4, micros)));
  const step = [1, 2, 4, 5, 10].find((each) => each * power >= micros) ?? 10;
  return step * power;
}

/** An amount beside the axis or on top of a bar, as short as its size allows. */
function shortDollars(micros: number, top: number): string {
  const usd = micros / 1_000_000;
  if (top >= 20_000_000) return usd.toFixed(0);
  return usd.toFixed(top >= 1_000_000 ? 2 : 4);
}

/** The classes of colours; what does not fit has the last. */
export const colorOf = (index: number): string => `c${Math.min(index + 1, 5)}`;

const sumOf = (series: readonly Series[], column: number): number =>
  series.reduce((sum, { micros }) => sum + (micros[column] ?? 0), 0);

/** Bars by hour or day, stacked by group, with the limit of a day as a line. Each bar is a button. */
export function DayBars({
  period,
  series,
  limitMicros,
  selected,
  onSelect,
}: {
  readonly period: Period;
  readonly series: readonly Series[];
  /** Null: none, or one that is not for a day. */
  readonly limitMicros: number | null;
  readonly selected: string | null;
  readonly onSelect: (key: string) => void;
}): ReactNode {
  const totals = period.columns.map((_, index) => sumOf(series, index));
  const top = roundUp(Math.max(...totals, limitMicros ?? 0));
  const y = (micros: number): number => height - (micros / top) * height;
  return (
    <div className="day-bars">
      <svg viewBox={`-52 -18 ${width + 56} ${height + 42}`} aria-hidden="true">
        {[0, 1, 2, 3, 4].map((part) => (
          <g key={part}>
            <line className="guide" x1={0} x2={width} y1={y((top * part) / 4)} y2={y((top * part) / 4)} />
            <text x={-6} y={y((top * part) / 4) + 4} textAnchor="end">
              {shortDollars((top * part) / 4, top)}
            </text>
          </g>
        ))}
        <Stacks period={period} series={series} y={y} top={top} />
        {limitMicros !== null && (
          <>
            <line className="limit" x1={0} x2={width} y1={y(limitMicros)} y2={y(limitMicros)} />
            <text className="limit" x={width} y={y(limitMicros) - 5} textAnchor="end">
              limit {limitDollars(limitMicros)} a day
            </text>
          </>
        )}
      </svg>
      <Columns period={period} series={series} totals={totals} selected={selected} onSelect={onSelect} />
    </div>
  );
}

function Stacks({
  period,
  series,
  y,
  top,
}: {
  readonly period: Period;
  readonly series: readonly Series[];
  readonly y: (micros: number) => number;
  readonly top: number;
}): ReactNode {
  const { columns } = period;
  const step = width / columns.length;
  const bar = Math.min(38, step * 0.7);
  return columns.map(({ key, label }, column) => {
    const x = column * step + (step - bar) / 2;
    const total = sumOf(series, column);
    let below = 0;
    return (
      <g key={key}>
        {series.map(({ name, micros }, index) => {
          const part = micros[column] ?? 0;
          below += part;
          const size = y(below - part) - y(below);
          if (part === 0) return null;
          return (
            <rect
              key={name}
              className={colorOf(index)}
              x={x}
              y={y(below)}
              width={bar}
              height={Math.max(0.5, size - 1)}
              rx={1.5}
            />
          );
        })}
        <text x={x + bar / 2} y={height + 16} textAnchor="middle">
          {label}
        </text>
        {total > 0 && columns.length <= 24 && (
          <text className="tv" x={x + bar / 2} y={y(total) - 5} textAnchor="middle">
            {shortDollars(total, top)}
          </text>
        )}
      </g>
    );
  });
}

function moveFocus({ key, currentTarget }: KeyboardEvent<HTMLElement>): void {
  const sibling =
    key === "ArrowLeft"
      ? currentTarget.previousElementSibling
      : key === "ArrowRight"
        ? currentTarget.nextElementSibling
        : null;
  if (sibling instanceof HTMLElement) sibling.focus();
}

function Columns({
  period: { columns },
  series,
  totals,
  selected,
  onSelect,
}: {
  readonly period: Period;
  readonly series: readonly Series[];
  readonly totals: readonly number[];
  readonly selected: string | null;
  readonly onSelect: (key: string) => void;
}): ReactNode {
  return (
    <div className="bar-columns" role="group" aria-label="Runs behind a bar">
      {columns.map(({ key, title }, column) => (
        <button
          key={key}
          type="button"
          aria-pressed={selected === key}
          onClick={() => onSelect(key)}
          onKeyDown={moveFocus}
        >
          <span className="for-readers">
            <InertText text={columnText(title, { total: totals[column] ?? 0, series, column })} />
          </span>
        </button>
      ))}
    </div>
  );
}

/** Describes a bar. */
function columnText(
  title: string,
  {
    total,
    series,
    column,
  }: { readonly total: number; readonly series: readonly Series[]; readonly column: number },
): string {
  const parts = series.flatMap(({ label, micros }) => {
    const part = micros[column] ?? 0;
    return part === 0 ? [] : [`${label} ${exactDollars(part)}`];
  });
  return `${title}: ${exactDollars(total)}${parts.length > 0 ? ` (${parts.join(", ")})` : ""}`;
}
