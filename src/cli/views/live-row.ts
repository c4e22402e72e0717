import type { AgentView } from "#view";
import type { Speech } from "../live/speech.ts";
import type { Screen } from "./screen.ts";
import { type Caps, layOut, treeLine, type TreeRow, treeRows } from "./tree-lines.ts";

/** Returns the last row of a run's live text. Null if there is none. */
export function getLiveRow({ runId, activity }: AgentView, speech: Speech, width: number): string | null {
  // Events and live text arrive on separate streams: text from before the last event is outdated.
  const row = activity.kind === "model" ? speech.row(runId, Math.max(1, width - 1)) : null;
  return row === null ? null : `“${row}`;
}

/** Draws a tree: one line per run and, if there is `room`, the current row of its live text below it. */
export function spokenTree(
  root: AgentView,
  { caps, speech, room }: { readonly caps: Caps; readonly speech: Speech; readonly room: number },
  screen: Screen,
): readonly string[] {
  const rows = treeRows(root);
  const layout = layOut(rows, caps, screen.width);
  let left = room - rows.length;
  return rows.flatMap((row) => {
    const line = treeLine(row, { layout, caps, screen });
    if (left <= 0) return line;
    const branches = branchesBelow(row);
    const said = getLiveRow(row.run, speech, screen.width - branches.length);
    if (said === null) return line;
    left -= 1;
    return [line, screen.paint("faint", branches) + said];
  });
}

/** Returns the branches that pass between a run and the next row. */
function branchesBelow({ run, branches }: TreeRow): string {
  const own = branches.replace("├ ", "│ ").replace("└ ", "  ");
  return `${own}${run.children.length > 0 ? "│ " : "  "}`;
}
