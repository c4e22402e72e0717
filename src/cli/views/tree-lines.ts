import type { Micros, RunId } from "#kernel";
import {
  formatCounted,
  duration,
  usd,
  type AgentView,
  allAgents,
  activityText,
  statusText,
  statusWidth,
} from "#view";
import { bar } from "../text/bar.ts";
import { cutToWidth, fit, widthOf } from "../text/width.ts";
import type { Screen } from "./screen.ts";

/** The known limits. */
export interface Caps {
  /** Limit of the whole tree. Null: no limit, or unknown. */
  readonly tree: Micros | null;
  /** Limits of single runs. */
  readonly runs: ReadonlyMap<RunId, Micros>;
}

/** One run and its position in the drawn tree. */
export interface TreeRow {
  readonly run: AgentView;
  /** The branches that lead to it. */
  readonly branches: string;
}

/** Returns all runs in the order in which they are drawn. */
export function treeRows(root: AgentView): readonly TreeRow[] {
  return [{ run: root, branches: "" }, ...toChildRows(root, "")];
}

function* toChildRows({ children }: AgentView, indent: string): Generator<TreeRow, void> {
  for (const [index, run] of children.entries()) {
    const isLast = index === children.length - 1;
    yield { run, branches: `${indent}${isLast ? "└ " : "├ "}` };
    yield* toChildRows(run, `${indent}${isLast ? "  " : "│ "}`);
  }
}

/** The columns of a drawn tree. */
export interface TreeLayout {
  readonly name: number;
  readonly money: number;
  /** 0 if no run has a limit. */
  readonly bar: number;
  readonly rest: number;
}

/** Computes the columns: names and amounts as wide as needed up to a limit; the rest is for the activity. */
export function layOut(rows: readonly TreeRow[], caps: Caps, width: number): TreeLayout {
  let name = 8;
  let money = 6;
  for (const { run, branches } of rows) {
    name = Math.max(name, branches.length + widthOf(toRunName(run)));
    money = Math.max(money, moneyText(run, caps).length);
  }
  name = Math.min(name, Math.floor(width * 0.3));
  const hasCap = caps.tree !== null || rows.some(({ run }) => capOf(run, caps) !== null);
  const barWidth = hasCap ? (width >= 120 ? 16 : 8) : 0;
  const taken = name + 2 + statusWidth + 1 + money + 1 + (hasCap ? barWidth + 1 : 0) + 1;
  return { name, money, bar: barWidth, rest: Math.max(0, width - taken) };
}

/** A tree, one line for each run. */
export function treeLines(root: AgentView, caps: Caps, screen: Screen): readonly string[] {
  const rows = treeRows(root);
  const layout = layOut(rows, caps, screen.width);
  return rows.map((row) => treeLine(row, { layout, caps, screen }));
}

/** Draws one run: name, status, cost against its limit, activity. */
export function treeLine(
  { run, branches }: TreeRow,
  { layout, caps, screen }: { readonly layout: TreeLayout; readonly caps: Caps; readonly screen: Screen },
): string {
  const { paint, now } = screen;
  const { text, tone } = statusText(run.status);
  const cap = capOf(run, caps);
  const branch = cutToWidth(branches, layout.name);
  const cells = [
    paint("faint", branch) + paint("strong", fit(toRunName(run), layout.name - branch.length)),
    "",
    paint(tone, fit(text, statusWidth)),
    fit(moneyText(run, caps), layout.money, "right"),
  ];
  if (layout.bar > 0) {
    const amounts = cap === null ? null : { spent: run.costMicros, reserved: run.reservedMicros, cap };
    cells.push(amounts ? bar(amounts, layout.bar, paint) : " ".repeat(layout.bar));
  }
  const toneOfRest = run.activity.kind === "approval" ? "waiting" : run.end ? "faint" : "plain";
  cells.push("", paint(toneOfRest, cutToWidth(activityText(run, now), layout.rest)));
  return cells.join(" ").trimEnd();
}

/** Draws the whole tree in one line: status, live runs, cost against the limit. */
export function treeHeadline(root: AgentView, caps: Caps, { width, paint, now }: Screen): string {
  const all = [...allAgents(root)];
  const alive = all.filter(({ end }) => end === null).length;
  const { text, tone } = statusText(root.status);
  const took = root.end?.durationMs ?? now - root.startedAt;
  const cap = capOf(root, caps);
  const money = `${usd(root.costMicros)}${cap === null ? "" : ` of ${usd(cap)}`}`;
  const inDoubt = root.inDoubtMicros > 0 ? `, ${usd(root.inDoubtMicros)} in doubt` : "";
  const reserved = root.reservedMicros > 0 ? `, ${usd(root.reservedMicros)} reserved` : "";
  const people =
    alive === 0
      ? formatCounted(all.length, "agent")
      : `${formatCounted(all.length, "agent")}, ${alive} alive`;
  const rest = [`${money}${inDoubt}${reserved}`, people, duration(took)].join(" · ");
  return `${paint(tone, text)} · ${cutToWidth(rest, width - widthOf(text) - 3)}`;
}

/** Returns the cost limit of a run. The tree's limit also applies to a root. Caps are newer than the run's events. */
function capOf({ runId, parentRunId, limits }: AgentView, caps: Caps): Micros | null {
  const own = caps.runs.get(runId) ?? limits?.maxCostMicros ?? null;
  if (parentRunId !== null || caps.tree === null) return own;
  return own === null ? caps.tree : Math.min(own, caps.tree);
}

function moneyText(run: AgentView, caps: Caps): string {
  const cap = capOf(run, caps);
  return `${usd(run.costMicros)}${cap === null ? "" : `/${usd(cap)}`}`;
}

const unimportant = new Set(["normal"]);

function toRunName({ agent, priority }: AgentView): string {
  return unimportant.has(priority) ? agent : `${agent} (${priority})`;
}
