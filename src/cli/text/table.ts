import type { Tone } from "#view";
import type { Paint } from "./paint.ts";
import { cutToWidth, fit, widthOf } from "./width.ts";

/** One column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly tone?: (row: Row) => Tone;
  readonly align?: "left" | "right";
  /** Minimum width. If space is short, the last such column shrinks first. */
  readonly shrinkTo?: number;
}

const gap = "  ";

/** Lines of at most `width` columns: titles first, then the rows. */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { width, paint }: { readonly width: number; readonly paint: Paint },
): readonly string[] {
  const cells = rows.map((row) => columns.map(({ text }) => text(row)));
  const wanted = columns.map(({ title }, index) =>
    Math.max(widthOf(title), ...cells.map((line) => widthOf(line[index] ?? ""))),
  );
  const widths = shrinkColumns(columns, wanted, width);
  const line = (texts: readonly string[], tone: (index: number) => Tone): string =>
    texts
      .map((text, index) => {
        const isLast = index === texts.length - 1;
        const { align = "left" } = columns[index] ?? {};
        const room = widths[index] ?? 0;
        return paint(
          tone(index),
          isLast && align === "left" ? cutToWidth(text, room) : fit(text, room, align),
        );
      })
      .join(gap)
      .trimEnd();
  return [
    line(
      columns.map(({ title }) => title),
      () => "faint",
    ),
    ...rows.map((row, at) => line(cells[at] ?? [], (index) => columns[index]?.tone?.(row) ?? "plain")),
  ];
}

function shrinkColumns<Row>(
  columns: readonly Column<Row>[],
  wanted: readonly number[],
  width: number,
): readonly number[] {
  const widths = [...wanted];
  let excess = widths.reduce((sum, each) => sum + each, 0) + gap.length * (columns.length - 1) - width;
  for (const [index, { shrinkTo }] of [...columns.entries()].toReversed()) {
    const now = widths[index] ?? 0;
    if (excess <= 0 || shrinkTo === undefined || now <= shrinkTo) continue;
    const given = Math.min(excess, now - shrinkTo);
    widths[index] = now - given;
    excess -= given;
  }
  return widths;
}
