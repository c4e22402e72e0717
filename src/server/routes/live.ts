import { RunId, TreeId } from "#kernel";
import type { RunHandle } from "#runtime";
import type { WatchedTree } from "../live/live-streams.ts";
import { type Call, type Route, route, subscribe } from "../route.ts";
import { refuseRequest, shape } from "../shape.ts";
import type { TreeSnapshot } from "#view";
import { findRun } from "./find-run.ts";
import { toCompressedResponse } from "./runs.ts";

/** Events before a snapshot that can be asked for, to show what happened last. */
const maxRecent = 200;

const tree = shape.id(TreeId.of, "a tree");
const runs = shape.list(shape.id(RunId.parse, "a run"));

/** Reads `tree:seq` pairs, or names alone. Names are percent-encoded. @throws HttpError */
function readCursors(text: string, at: string): readonly { readonly tree: TreeId; readonly after: number }[] {
  if (text === "") return [];
  return text.split(",").map((pair) => {
    const found = /^([^:]{1,400})(?::(\d{1,15}))?$/.exec(pair);
    if (!found)
      return refuseRequest(at, "must be tree ids with the last event of each, such as report:7,books:0");
    return { tree: tree.decode(decodeTreeName(found[1] ?? "", at), at), after: Number(found[2] ?? 0) };
  });
}

function decodeTreeName(text: string, at: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuseRequest(at, "must be percent-encoded tree ids");
  }
}

/**
 * Returns the runs, or roots of trees, with these names. @throws NotFoundError unless the caller may see every one of
 * them.
 */
async function findRuns(call: Call, names: readonly string[], at: string): Promise<readonly RunHandle[]> {
  const { watchedTrees } = call.host.limits;
  if (names.length > watchedTrees) refuseRequest(at, `must have at most ${watchedTrees} trees`);
  return Promise.all(names.map((run) => findRun({ ...call, params: { run } })));
}

export const liveRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/live",
    scope: "read",
    forUsers: true,
    summary:
      "Everything that a browser shows, in one stream: runs that changed, the number of approvals that wait, events of the trees it watches, pieces of answers; `Last-Event-ID`, else `trees`, says which trees and where to resume",
    answers: "text/event-stream",
    query: shape.object({
      trees: shape.optional(shape.text({ max: 16_000 })),
      deltas: shape.optional(shape.text({ max: 512 })),
    }),
    handle: async (call) => {
      const { host, principal, query } = call;
      const resumed = call.header("last-event-id");
      const cursors =
        resumed === undefined
          ? readCursors(query.trees ?? "", "query.trees")
          : readCursors(resumed, "Last-Event-ID");
      const found = await findRuns(
        call,
        cursors.map((each) => each.tree),
        "trees",
      );
      const speaking = query.deltas === undefined ? [] : await findRuns(call, [query.deltas], "query.deltas");
      return subscribe(call, async (signal) => {
        const stream = await host.live.open(principal, signal);
        stream.watchTrees(found.map((run, index) => ({ run, after: cursors[index]?.after ?? 0 })));
        stream.watchPieces(speaking);
        return stream.frames();
      });
    },
  }),
  route({
    method: "post",
    path: "/live/:live",
    scope: "read",
    forUsers: true,
    pool: "reads",
    summary: "Change what an open live stream watches. A tree without `after` is answered with its view",
    body: shape.object({
      trees: shape.optional(
        shape.list(
          shape.object({
            tree,
            after: shape.optional(shape.integer()),
            recent: shape.optional(shape.integer({ max: maxRecent })),
          }),
        ),
      ),
      deltas: shape.optional(runs),
    }),
    handle: async (call) => {
      const { host, principal, params, body, header } = call;
      const stream = host.live.find(params["live"] ?? "", principal);
      const { trees, deltas } = body;
      const found = await findRuns(
        call,
        (trees ?? []).map((each) => each.tree),
        "body.trees",
      );
      const speaking = await findRuns(call, deltas ?? [], "body.deltas");
      const views: TreeSnapshot[] = [];
      const watched: WatchedTree[] = [];
      for (const [index, run] of found.entries()) {
        const { after, recent = 0 } = trees?.[index] ?? {};
        if (after !== undefined) {
          watched.push({ run, after });
          continue;
        }
        const view = await host.snapshots.read(principal, run.treeId);
        views.push(view);
        watched.push({ run, after: Math.max(0, view.seq - recent) });
      }
      if (trees) stream.watchTrees(watched);
      if (deltas) stream.watchPieces(speaking);
      return toCompressedResponse({ views }, header("accept-encoding") ?? "");
    },
  }),
];
