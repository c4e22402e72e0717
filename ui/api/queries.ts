import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { request, segment } from "./http.ts";
import type { AgentRecord, ApprovalRecord, Page, RunResult } from "./records.ts";

/** Questions to people: those that wait, oldest first, or those that were decided, newest first. Read again as they change. */
export function useApprovals(state: "pending" | "decided"): UseQueryResult<readonly ApprovalRecord[]> {
  return useQuery({
    queryKey: ["approvals", state],
    queryFn: async ({ signal }) => {
      const { items } = await request<Page<ApprovalRecord>>(`/approvals?state=${state}&size=200`, { signal });
      return state === "pending" ? items.toReversed() : items;
    },
  });
}

/** The agents that can be started. */
export function useAgents(): UseQueryResult<readonly AgentRecord[]> {
  return useQuery({
    queryKey: ["agents"],
    queryFn: async ({ signal }) => (await request<Page<AgentRecord>>("/agents", { signal })).items,
    staleTime: 60_000,
  });
}

/** The result of a run that has ended. */
export function useResult(run: string, hasEnded: boolean): UseQueryResult<RunResult | null> {
  return useQuery({
    queryKey: ["result", run],
    queryFn: ({ signal }) => request<RunResult | null>(`/runs/${segment(run)}/result`, { signal }),
    enabled: hasEnded,
    staleTime: Infinity,
  });
}
