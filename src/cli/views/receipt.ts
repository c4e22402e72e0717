import { AgentId, type Micros, type RunResult, Usage } from "#kernel";
import {
  formatCount,
  formatCounted,
  duration,
  exactUsd,
  clean,
  type AgentView,
  limitText,
  refusedDimension,
  remedies,
  reasonText,
  statusText,
} from "#view";
import { type Column, table } from "../text/table.ts";
import { wrap } from "../text/width.ts";
import type { Screen } from "./screen.ts";
import { treeRows, type TreeRow } from "./tree-lines.ts";

/** Formats the receipt: cost, duration and stop reason of each run. */
export function receiptLines(
  root: AgentView,
  result: Pick<RunResult, "status" | "stopReason" | "usage" | "costMicros" | "inDoubtMicros" | "error">,
  screen: Screen,
): readonly string[] {
  const { paint, width } = screen;
  const { text, tone } = statusText(result.status);
  const rows = treeRows(root);
  const lines = [
    `${paint(tone, text)}: ${reasonText(result.stopReason)}`,
    "",
    ...table(columns, rows, screen),
    "",
    `${paint("strong", "total")} ${exactUsd(result.costMicros)} · ${tokensText(result.usage)} · ` +
      `${formatCounted(rows.length, "agent")} · ${duration(root.end?.durationMs ?? screen.now - root.startedAt)}`,
  ];
  if (result.inDoubtMicros > 0)
    lines.push(...wrap(doubt(result.inDoubtMicros), width).map((line) => paint("waiting", line)));
  // Children of one agent are often refused by the same limit.
  const refusals = [...new Set(rows.flatMap(({ run }) => refusalText(run, rows, screen) ?? []))];
  lines.push(...refusals.slice(0, maxRefusals).flatMap((refusal) => refusal.split("\n")));
  if (refusals.length > maxRefusals) lines.push(`and ${refusals.length - maxRefusals} more: reeve why <run>`);
  const { code, message = "" } = result.error ?? {};
  if (message !== "" && code !== "budget-exhausted") lines.push(paint("bad", clean(message)));
  return lines;
}

/** The refusals that a receipt explains. */
const maxRefusals = 3;

/** Returns the limit that stopped a run and the remedy. Null if none did. */
function refusalText(
  run: AgentView,
  rows: readonly TreeRow[],
  { paint, width }: Pick<Screen, "paint" | "width">,
): string | null {
  const dimension = refusedDimension(run);
  if (dimension === null) return null;
  const parent = rows.find((row) => row.run.runId === run.parentRunId)?.run ?? null;
  const text = `${AgentId.type(run.agent)}: ${limitText({ run, parent }, dimension)}`;
  const [remedy] = remedies({ run, parent }, dimension);
  const hint = remedy === undefined ? [] : wrap(remedy, width - 4);
  return [
    ...wrap(text, width).map((line) => paint("bad", line)),
    ...hint.map((line, index) => paint("faint", `${index === 0 ? "  → " : "    "}${line}`)),
  ].join("\n");
}

const columns: readonly Column<TreeRow>[] = [
  { title: "agent", text: ({ run, branches }) => `${branches}${AgentId.type(run.agent)}`, shrinkTo: 12 },
  {
    title: "status",
    text: ({ run }) => statusText(run.status).text,
    tone: ({ run }) => statusText(run.status).tone,
  },
  { title: "calls", text: ({ run }) => formatCount(run.own.calls), align: "right" },
  { title: "in", text: ({ run }) => formatCount(run.own.usage.input), align: "right" },
  { title: "out", text: ({ run }) => formatCount(run.own.usage.output), align: "right" },
  { title: "own cost", text: ({ run }) => exactUsd(run.own.costMicros), align: "right" },
  {
    title: "took",
    text: ({ run }) => (run.end ? duration(run.end.durationMs) : ""),
    align: "right",
  },
  { title: "stopped by", text: ({ run }) => (run.end ? reasonText(run.end.stopReason) : ""), shrinkTo: 6 },
];

function tokensText(usage: Usage): string {
  const cached = usage.cachedInput ? `, ${formatCount(usage.cachedInput)} of them from the cache` : "";
  return `${formatCount(Usage.tokens(usage))} tokens${cached}`;
}

const doubt = (amount: Micros): string =>
  `${exactUsd(amount)} of it is in doubt: the outcome of a call is unknown, so it is booked at its ceiling`;
