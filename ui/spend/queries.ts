import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { addressOf, ApiError, request } from "../api/http.ts";
import type { Page } from "../api/records.ts";
import type { DoubtRecord, SpendAnswer, StoppedTree } from "./records.ts";

/** The time between two reads of sums. */
const sumsMs = 15_000;

/** A part of the roll-up. */
export interface SpendRequest {
  readonly from: number;
  readonly to: number;
  readonly by: string;
  readonly size?: number;
  /** The number of users that are shown on their own. */
  readonly topUsers?: number;
  readonly filter?: Readonly<Record<string, string>>;
}

function spendAddress({ from, to, by, size = 10_000, topUsers, filter = {} }: SpendRequest): string {
  const range = { from: String(from), to: String(to), by, size: String(size) };
  const top = topUsers === undefined ? {} : { topUsers: String(topUsers) };
  return `/spend?${new URLSearchParams({ ...range, ...top, ...filter })}`;
}

/** Money in groups. `enabled`: whether it is wanted yet. */
export function useSpend(wanted: SpendRequest, enabled = true): UseQueryResult<SpendAnswer> {
  const address = spendAddress(wanted);
  return useQuery({
    queryKey: ["spend", address],
    queryFn: ({ signal }) => request<SpendAnswer>(address, { signal }),
    refetchInterval: sumsMs,
    placeholderData: keepPreviousData,
    enabled,
  });
}

/** The name of the list of calls in doubt. */
export const doubtsKey = ["spend", "in-doubt"] as const;

/** The newest calls in doubt. */
export function useInDoubt(): UseQueryResult<Page<DoubtRecord>> {
  return useQuery({
    queryKey: doubtsKey,
    queryFn: ({ signal }) => request<Page<DoubtRecord>>("/spend/in-doubt?size=100", { signal }),
    refetchInterval: sumsMs,
  });
}

const stops = "budget.cost,budget.tokens,budget.turns,budget.agents,deadline";

/** The newest trees that a limit or a deadline ended. */
export function useStopped({
  from,
  to,
}: Pick<SpendRequest, "from" | "to">): UseQueryResult<Page<StoppedTree>> {
  const address = `/runs?roots=true&stop=${stops}&since=${from}&until=${to}&size=6`;
  return useQuery({
    queryKey: ["spend", "stopped", address],
    queryFn: ({ signal }) => request<Page<StoppedTree>>(address, { signal }),
    refetchInterval: sumsMs,
    placeholderData: keepPreviousData,
  });
}

/** Saves sums as a file. @throws ApiError */
export async function saveCsv(wanted: SpendRequest): Promise<void> {
  const response = await fetch(addressOf(spendAddress(wanted)), {
    credentials: "same-origin",
    headers: { accept: "text/csv" },
  });
  if (!response.ok)
    throw new ApiError({ status: response.status, code: "error", message: "the file cannot be read" });
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = "spend.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
