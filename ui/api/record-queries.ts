import {
  type InfiniteData,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
  useQuery,
  type UseQueryResult,
} from "@tanstack/react-query";
import { addressOf, request, segment } from "./http.ts";
import type {
  AuditHead,
  AuditLink,
  AuditReport,
  EntryRecord,
  Page,
  RunRecord,
  SessionRecord,
} from "./records.ts";

const pollMs = 5_000;

interface AuditPage {
  readonly items: readonly AuditLink[];
  readonly next: number | null;
}

/** A filter for audit links. */
export interface AuditQuery {
  readonly kind: string;
  readonly tree: string;
  readonly run: string;
}

const searchOf = (fields: Readonly<Record<string, string | number | null>>): string =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) =>
      value === null || value === "" ? [] : [[name, String(value)]],
    ),
  ).toString();

/** Links of the audit, newest first, page after page. */
export function useAuditLinks(
  query: AuditQuery,
): UseInfiniteQueryResult<InfiniteData<AuditPage, number | null>> {
  return useInfiniteQuery({
    queryKey: ["audit", "links", query],
    queryFn: ({ signal, pageParam }) =>
      request<AuditPage>(`/audit?${searchOf({ ...query, before: pageParam, size: 100 })}`, { signal }),
    initialPageParam: null as number | null,
    getNextPageParam: ({ next }) => next,
    refetchInterval: pollMs,
  });
}

/** Reads one audit link. Null if there is none with this index. */
export function useAuditLink(index: number | null): UseQueryResult<AuditLink | null> {
  return useQuery({
    queryKey: ["audit", "link", index],
    queryFn: async ({ signal }) => {
      const { items } = await request<AuditPage>(`/audit?before=${(index ?? 0) + 1}&size=1`, { signal });
      return items.find((link) => link.index === index) ?? null;
    },
    enabled: index !== null,
    staleTime: Infinity,
  });
}

/** The last link, and the last verification. */
export function useChainState(): UseQueryResult<{
  readonly head: AuditHead | null;
  readonly report: AuditReport | null;
}> {
  return useQuery({
    queryKey: ["audit", "state"],
    queryFn: async ({ signal }) => {
      const [head, report] = await Promise.all([
        request<AuditHead | null>("/audit/head", { signal }),
        request<AuditReport | null>("/audit/report", { signal }),
      ]);
      return { head, report };
    },
    refetchInterval: pollMs,
  });
}

/** The progress of a verification. */
export interface Progress {
  readonly checked: number;
  readonly length: number;
}

/** Verifies the chain and reports progress. @throws Error with the reason. */
export async function verifyChain(
  head: AuditHead | null,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const response = await fetch(addressOf("/audit/verify"), {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ progress: true, ...(head && { head }) }),
  });
  if (!response.ok || !response.body) throw new Error(`the server answered ${response.status}`);
  let rest = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = `${rest}${value}`.split("\n");
    rest = lines.pop() ?? "";
    const last = lines.at(-1);
    if (last !== undefined && last.includes('"checked"')) onProgress(JSON.parse(last));
  }
}

const weekMs = 7 * 24 * 60 * 60 * 1000;
const maxRuns = 1_000;

/** Runs of the last week and their cost, by agent. */
export interface WeekOfAgents {
  readonly byAgent: ReadonlyMap<string, { readonly runs: number; readonly costMicros: number }>;
  /** Whether there were more runs than were read. */
  readonly isPart: boolean;
}

/** Adds up the runs of the last week, the newest 1,000 at most: of one agent, or of all. */
export function useWeek(agent: string | null): UseQueryResult<WeekOfAgents> {
  return useQuery({
    queryKey: ["runs", "week", agent],
    queryFn: async ({ signal }) => {
      const since = Date.now() - weekMs;
      const search = searchOf({ since, size: maxRuns, agent });
      const { items, next } = await request<Page<RunRecord>>(`/runs?${search}`, { signal });
      const byAgent = new Map<string, { runs: number; costMicros: number }>();
      for (const { agentId, costMicros } of items) {
        const name = agentId.split(":", 1)[0] ?? agentId;
        const sum = byAgent.get(name) ?? { runs: 0, costMicros: 0 };
        byAgent.set(name, { runs: sum.runs + 1, costMicros: sum.costMicros + costMicros });
      }
      return { byAgent, isPart: next !== null };
    },
    staleTime: 30_000,
  });
}

/** Conversations, newest first, page after page. */
export function useSessions(
  unnamed: boolean,
): UseInfiniteQueryResult<InfiniteData<Page<SessionRecord>, string | null>> {
  return useInfiniteQuery({
    queryKey: ["sessions", unnamed],
    queryFn: ({ signal, pageParam }) =>
      request<Page<SessionRecord>>(
        `/sessions?${searchOf({ unnamed: unnamed ? "true" : null, after: pageParam, size: 100 })}`,
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    refetchInterval: pollMs,
  });
}

/** A conversation with all its entries. */
export interface SessionEntries extends SessionRecord {
  readonly hasContent: boolean;
  readonly items: readonly EntryRecord[];
}

const entriesPerPage = 1_000;
const maxEntries = 10_000;

/** Reads every entry of a conversation, in the order they came. */
export function useEntries(id: string, user: string | null): UseQueryResult<SessionEntries> {
  return useQuery({
    queryKey: ["entries", id, user],
    queryFn: async ({ signal }) => {
      const read = (after: string | null): Promise<SessionEntries> =>
        request<SessionEntries>(
          `/sessions/${segment(id)}/entries?${searchOf({ user, after, size: entriesPerPage })}`,
          { signal },
        );
      const first = await read(null);
      const items = [...first.items];
      for (let page = first; page.items.length === entriesPerPage && items.length < maxEntries;) {
        page = await read(items.at(-1)?.id ?? null);
        items.push(...page.items);
      }
      return { ...first, items };
    },
    refetchInterval: pollMs,
  });
}
