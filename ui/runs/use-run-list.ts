import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { request } from "../api/http.ts";
import type { Page, RunRecord, RunStatus } from "../api/records.ts";

/** The lists of the screen. */
export const shows = ["all", "live", "asks", "stopped"] as const;
export type Show = (typeof shows)[number];

const statuses: Readonly<Record<Show, readonly (RunStatus | null)[]>> = {
  all: [null],
  live: ["running", "waiting", "paused", "pending"],
  asks: ["running", "waiting"],
  stopped: ["landed", "failed", "cancelled"],
};

const pageSize = 100;
const pollMs = 3_000;

interface ListOptions {
  readonly show: Show;
  readonly agent: string;
  readonly after: string | null;
}

/** A list of trees, asked again every three seconds. */
interface RunList {
  /** Null: not read yet. */
  readonly items: readonly RunRecord[] | null;
  readonly error: Error | null;
  /** The next page; null: this is the last. */
  readonly next: string | null;
  /** Trees that began since, and are not shown while the reader is further down. */
  readonly newCount: number;
  readonly showNew: () => void;
  readonly setScrolled: (isScrolled: boolean) => void;
  readonly retry: () => void;
}

function addressOf(status: RunStatus | null, { agent, after }: ListOptions): string {
  const query = new URLSearchParams({ roots: "true", size: String(pageSize) });
  if (status !== null) query.set("status", status);
  if (agent !== "") query.set("agent", agent);
  if (after !== null) query.set("after", after);
  return `/runs?${query}`;
}

/** Reads the trees of a list. New ones wait above it while the reader has scrolled: rows never move under the cursor. */
export function useRunList(options: ListOptions): RunList {
  const [isScrolled, setScrolled] = useState(false);
  const shown = useRef<{ key: string; ids: ReadonlySet<string> }>({ key: "", ids: new Set() });
  const [, refresh] = useState(0);
  const addresses = statuses[options.show].map((status) => addressOf(status, options));
  const read = useQueries({
    queries: addresses.map((address) => ({
      queryKey: ["runs", address],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        request<Page<RunRecord>>(address, { signal }),
      refetchInterval: pollMs,
      placeholderData: keepPreviousData,
    })),
  });
  const retry = (): void => {
    for (const each of read) void each.refetch();
  };
  const error = read.find((each) => each.error !== null)?.error ?? null;
  const base = { error, retry, setScrolled, showNew: () => refresh((count) => count + 1) };
  const pages = read.map(({ data }) => data);
  const known = pages.filter((page) => page !== undefined);
  if (known.length < pages.length) return { ...base, items: null, next: null, newCount: 0 };
  const all = known.flatMap(({ items }) => items).toSorted((a, b) => b.startedAt - a.startedAt);
  const key = addresses.join();
  const isSame = shown.current.key === key;
  const fresh = isSame && isScrolled ? all.filter(({ runId }) => !shown.current.ids.has(runId)) : [];
  const showNew = (): void => {
    shown.current = { key, ids: new Set(all.map(({ runId }) => runId)) };
    refresh((count) => count + 1);
  };
  const hidden = new Set(fresh.map(({ runId }) => runId));
  const items = all.filter(({ runId }) => !hidden.has(runId));
  if (fresh.length === 0) shown.current = { key, ids: new Set(all.map(({ runId }) => runId)) };
  const next = known.length === 1 ? (known[0]?.next ?? null) : null;
  return { ...base, items, next, newCount: fresh.length, showNew };
}
