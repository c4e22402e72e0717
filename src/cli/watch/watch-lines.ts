import type { ApprovalRecord } from "#kernel";
import { type AgentView, fromEvents, why } from "#view";
import type { Speech } from "../live/speech.ts";
import { foldWords } from "../text/fold.ts";
import { plainPaint } from "../text/paint.ts";
import { cutToWidth, widthOf } from "../text/width.ts";
import type { Screen } from "../views/screen.ts";
import { approvalText } from "../views/approval-lines.ts";
import { getLiveRow } from "../views/live-row.ts";
import { type Caps, layOut, treeHeadline, treeLine, type TreeRow, treeRows } from "../views/tree-lines.ts";
import { scrollTo, type WatchState } from "./watch-state.ts";

/** A screen with a height. */
export interface WatchScreen extends Screen {
  readonly height: number;
}

/** Rows around the tree: headline, two rules, details of the selected run, and key help. */
const frameHeight = 6;

/** Returns the number of tree rows that fit. */
export function rowsShown(height: number): number {
  return Math.max(1, height - frameHeight);
}

const keys = "↑↓ select · p pause · r resume · t top up · a approve · d deny · c cancel · q leave";

/** The watched tree and its state. */
interface WatchedView {
  readonly root: AgentView | null;
  readonly caps: Caps;
  readonly speech: Speech;
}

/** The whole screen. Only the rows that show are drawn, however many there are. */
export function watchLines(
  { root, caps, speech }: WatchedView,
  state: WatchState,
  screen: WatchScreen,
): readonly string[] {
  const { paint, width } = screen;
  if (state.prompt?.kind === "approve") return reviewLines(state.prompt.record, screen);
  if (!root) return [paint("faint", "waiting for a worker …"), "", paint("faint", cutToWidth(keys, width))];
  const rows = treeRows(root);
  const selected = Math.max(
    0,
    rows.findIndex(({ run }) => run.runId === state.selected),
  );
  const shown = rowsShown(screen.height);
  const top = scrollTo(state.top, selected, { all: rows.length, shown });
  const visible = rows.slice(top, top + shown);
  const narrower = { ...screen, width: width - 2 };
  const layout = layOut(visible, caps, narrower.width);
  const lines = visible.map((row, index) => {
    const mark = top + index === selected ? paint("strong", "❯ ") : "  ";
    return mark + treeLine(row, { layout, caps, screen: narrower });
  });
  return [
    treeHeadline(root, caps, screen),
    rule(top, "above", screen),
    ...lines,
    rule(rows.length - top - visible.length, "below", screen),
    ...detail(rows[selected], speech, screen),
    footer(state, screen),
  ];
}

/** Whether the screen shows a call with all of its arguments. */
export function fitsReview(record: ApprovalRecord, screen: WatchScreen): boolean {
  return reviewText(record, screen).length < screen.height;
}

/** Formats a call within the width of the screen. Its lines are not painted, so that their widths are known. */
function reviewText(record: ApprovalRecord, screen: WatchScreen): readonly string[] {
  const lines = approvalText(record, { ...screen, paint: plainPaint });
  return lines.flatMap((line) => (widthOf(line) > screen.width ? foldWords(line, screen.width) : [line]));
}

/** A call before it is approved: all of it, or the command that shows all of it. */
function reviewLines(record: ApprovalRecord, screen: WatchScreen): readonly string[] {
  const { paint, width, height } = screen;
  const lines = reviewText(record, screen);
  if (fitsReview(record, screen)) return [...lines, paint("waiting", `approve ${record.id}? y / n`)];
  const advice = `too long for this screen: leave with q, and approve ${record.id} on the command line`;
  return [...lines.slice(0, height - 1), paint("bad", cutToWidth(advice, width))];
}

function rule(hidden: number, where: "above" | "below", { paint, width }: Screen): string {
  const words = hidden > 0 ? ` ${hidden} more ${where} ` : "";
  return paint("faint", `──${words}${"─".repeat(Math.max(0, width - words.length - 2))}`);
}

/** Returns why the selected run is in its state, and its live text or further details. */
function detail(row: TreeRow | undefined, speech: Speech, screen: Screen): readonly string[] {
  const { paint, width, now } = screen;
  if (!row) return ["", ""];
  const { answer, details } = why(fromEvents(row.run), now);
  const said = getLiveRow(row.run, speech, width) ?? paint("faint", cutToWidth(details[0] ?? "", width));
  return [cutToWidth(`${row.run.runId}  ${answer}`, width), said];
}

function footer({ prompt, note, isLost }: WatchState, { paint, width }: Screen): string {
  if (prompt?.kind === "cancel")
    return paint("bad", cutToWidth(`cancel ${prompt.run} and everything below it? y / n`, width));
  if (prompt?.kind === "top-up")
    return paint("waiting", cutToWidth(`top up ${prompt.run} by $${prompt.text}▏ (Enter, Esc)`, width));
  if (isLost) return paint("waiting", cutToWidth("waiting for the server …", width));
  return paint(note === null ? "faint" : "plain", cutToWidth(note ?? keys, width));
}
