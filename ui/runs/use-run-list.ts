import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { request } from "../api/http.ts";
import type { Page, RunRecord, RunStatus } from "../api/records.ts";

/** The lists of the screen. */
export const shows = ["all", "live", "asks", "stopped"] as const;
export type Show = (typeof shows)[number];

/** A question is open only while its run works or waits. */
const statuses: Readonly<Record<Show, readonly RunStatus[]>> = {
  all: [],
  live: ["running", "waiting", "paused", "pending"],
  asks: ["running", "waiting", "paused"],
  stopped: ["landed", "failed", "cancelled"],
};

const pageSize = 100;

interface ListOptions {
  readonly show: Show;
  readonly agent: string;
  readonly after: string | null;
}

/** A list of trees, updated by the stream. */
export interface RunList {
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

function addressOf({ show, agent, after }: ListOptions): string {
  const query = new URLSearchParams({ roots: "true", size: String(pageSize) });
  if (statuses[show].length > 0) query.set("status", statuses[show].join());
  if (agent !== "") query.set("agent", agent);
  if (after !== null) query.set("after", after);
  return `/runs?${query}`;
}

/** Reads the trees of a list. New ones wait above it while the reader has scrolled: rows never move under the cursor. */
export function useRunList(options: ListOptions): RunList {
  const [isScrolled, setScrolled] = useState(false);
  const shown = useRef<{ readonly address: string; readonly ids: ReadonlySet<string> } | null>(null);
  const [, refresh] = useState(0);
  const address = addressOf(options);
  const { data, error, refetch } = useQuery({
    queryKey: ["runs", address],
    queryFn: ({ signal }) => request<Page<RunRecord>>(address, { signal }),
  });
  const all = data?.items ?? [];
  const show = (): void => {
    shown.current = { address, ids: new Set(all.map(({ runId }) => runId)) };
  };
  const known = isScrolled && shown.current?.address === address ? shown.current.ids : null;
  const fresh = known ? all.filter(({ runId }) => !known.has(runId)) : [];
  if (data && fresh.length === 0) show();
  return {
    items: data ? all.filter((run) => !fresh.includes(run)) : null,
    error,
    next: data?.next ?? null,
    newCount: fresh.length,
    showNew: () => {
      show();
      refresh((count) => count + 1);
    },
    setScrolled,
    retry: () => void refetch(),
  };
}
