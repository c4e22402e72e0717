import type { AgentView } from "#view";
import type { Speech } from "../live/speech.ts";
import type { Screen } from "./screen.ts";
import { type Caps, layOut, treeLine, type TreeRow, treeRows } from "./tree-lines.ts";

/** The last row of what a run says now; null while it says nothing. */
export function spoken({ runId, activity }: AgentView, speech: Speech, width: number): string | null {
  // Events and words come on two ways: what was said before the last event is over.
  const row = activity.kind === "model" ? speech.row(runId, Math.max(1, width - 1)) : null;
  return row === null ? null : `“${row}`;
}

/** A tree, one line for each run and, below whoever speaks, the row that it has come to, as long as there is `room`. */
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
    const said = spoken(row.run, speech, screen.width - branches.length);
    if (said === null) return line;
    left -= 1;
    return [line, screen.paint("faint", branches) + said];
  });
}

/** The branches that pass by between a run and whoever comes next. */
function branchesBelow({ run, branches }: TreeRow): string {
  const own = branches.replace("├ ", "│ ").replace("└ ", "  ");
  return `${own}${run.children.length > 0 ? "│ " : "  "}`;
}
