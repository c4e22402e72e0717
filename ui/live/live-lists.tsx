import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { useMe } from "../api/session.tsx";
import type { Page, RunRecord } from "../api/records.ts";
import { liveClient } from "./live-client.ts";

/** Connects the page to the server's stream, and feeds the lists from it. */
export function LiveLists({ children }: { readonly children: ReactNode }): ReactNode {
  const queries = useQueryClient();
  const { id, tenant } = useMe();
  useEffect(
    () =>
      liveClient.connect(`${tenant ?? ""}/${id}`, {
        onRuns: (runs) => updateLists(queries, runs),
        onWaiting: () => void queries.invalidateQueries({ queryKey: ["approvals"] }),
        onRelist: () => {
          void queries.invalidateQueries({ queryKey: ["runs"] });
          void queries.invalidateQueries({ queryKey: ["approvals"] });
        },
        onRefused: () => void queries.resetQueries({ queryKey: ["me"] }),
      }),
    [queries, id, tenant],
  );
  return children;
}

/** Puts records into every list of trees that has been read. */
function updateLists(queries: QueryClient, runs: readonly RunRecord[]): void {
  for (const [key] of queries.getQueriesData({ queryKey: ["runs"] }))
    queries.setQueryData<Page<RunRecord>>(key, (page) =>
      page ? { ...page, items: updateItems(page, runs, String(key[1])) } : page,
    );
}

/** Newest first, as the server lists them. A list that begins at a later page gets no new ones. */
function updateItems(
  { items }: Page<RunRecord>,
  runs: readonly RunRecord[],
  address: string,
): readonly RunRecord[] {
  const query = new URLSearchParams(address.slice(address.indexOf("?")));
  const statuses = query.get("status")?.split(",") ?? null;
  const agent = query.get("agent");
  const fits = (run: RunRecord): boolean =>
    (statuses?.includes(run.status) ?? true) && (agent === null || run.agentId.split("/", 1)[0] === agent);
  const changed = new Map<string, RunRecord>(runs.map((run) => [run.runId, run]));
  const known = new Set<string>(items.map(({ runId }) => runId));
  const kept = items.map((run) => changed.get(run.runId) ?? run).filter(fits);
  const added = query.has("after") ? [] : runs.filter((run) => !known.has(run.runId) && fits(run));
  if (added.length === 0) return kept;
  return [...kept, ...added].toSorted((a, b) => b.startedAt - a.startedAt || (a.runId < b.runId ? 1 : -1));
}
