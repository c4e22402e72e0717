import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { request, segment } from "./http.ts";
import type { AgentRecord, ApprovalRecord, Page, RunRecord, RunResult, TenantAccount } from "./records.ts";

/** A filter for questions. */
export interface ApprovalQuery {
  readonly agent?: string;
  readonly tool?: string;
  readonly risk?: string;
  readonly user?: string;
}

const everything: ApprovalQuery = {};

/** Reads approval questions: pending ones oldest first, or decided ones newest first. Reads again on changes. */
export function useApprovals(
  state: "pending" | "decided",
  query: ApprovalQuery = everything,
): UseQueryResult<readonly ApprovalRecord[]> {
  return useQuery({
    queryKey: ["approvals", state, query],
    queryFn: async ({ signal }) => {
      const search = new URLSearchParams({ ...query, state, size: "200" }).toString();
      const { items } = await request<Page<ApprovalRecord>>(`/approvals?${search}`, { signal });
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

/** The time between two readings of the tenant's account. */
const tenantPollMs = 3_000;

/** Reads the name that a tree was started with. A tree keeps it. Null: none, or unknown yet. */
export function useTreeName(tree: string): string | null {
  const { data } = useQuery({
    queryKey: ["tree-name", tree],
    queryFn: ({ signal }) =>
      request<Page<RunRecord>>(`/runs?roots=true&id=${segment(`${tree}~0`)}&size=1`, { signal }),
    staleTime: Infinity,
  });
  return data?.items[0]?.name ?? null;
}

/** Reads the account of the tenant. */
export function useTenant(): UseQueryResult<TenantAccount> {
  return useQuery({
    queryKey: ["tenant"],
    queryFn: ({ signal }) => request<TenantAccount>("/tenant", { signal }),
    refetchInterval: tenantPollMs,
  });
}
