import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Bill, type StepFigures, StepLog } from "#view";
import type { TreeEvent } from "../live/messages.ts";
import { request, segment } from "./http.ts";
import type { Json } from "./records.ts";
import { useLock } from "./session.tsx";

/** A part of a prompt or an answer. A reader without the right to content gets no `content`. */
export interface PartRecord {
  readonly role: "system" | "tools" | "user" | "assistant" | "tool" | "input" | "result";
  readonly size: number;
  readonly tokens: number;
  readonly content?: Json;
  readonly missing?: "erased" | "not-stored";
  readonly notStored?: "ephemeral" | "retention" | "too-large";
  readonly same?: true;
  readonly from?: { readonly kind: "message" | "steer" | "followUp"; readonly name: string };
  readonly labels?: { readonly untrusted: boolean; readonly private: boolean };
}

/** A step as recorded in its manifest. */
export interface StepRecord {
  readonly content: "recorded" | "erased" | "not-recorded";
  readonly manifest: {
    readonly name: string;
    readonly finish?: string;
    readonly decisions: readonly Omit<StepFigures["decisions"][number], "seq" | "at">[];
  } | null;
  readonly prompt: readonly PartRecord[];
  readonly answer: readonly PartRecord[];
  /** The system message and tools of the step before that this one has no more. */
  readonly replaced: readonly PartRecord[];
  readonly bill: Bill | null;
  readonly isEqual: boolean;
}

/** A step with its content, or without where the reader may not read it. `since`: the step that it is compared with. */
export function useStep(
  step: Pick<StepFigures, "runId" | "stepId" | "state"> | null,
  since: string | null,
): UseQueryResult<StepRecord> {
  const isLocked = useLock("content") !== null;
  const { runId = "", stepId = "" } = step ?? {};
  return useQuery({
    queryKey: ["step", stepId, since, isLocked],
    queryFn: ({ signal }) => {
      const path = `/runs/${segment(runId)}/steps/${segment(stepId)}${isLocked ? "/figures" : ""}`;
      return request<StepRecord>(since === null ? path : `${path}?diff=${segment(since)}`, { signal });
    },
    enabled: step !== null && step.state !== "running",
    // Content may be erased at any time.
    staleTime: 30_000,
  });
}

interface LogPage {
  readonly items: readonly TreeEvent[];
  readonly next: string | null;
  readonly seq: number;
}

/** The stored events of a tree, or of one run, that were read so far. */
interface EventLog {
  readonly events: readonly TreeEvent[];
  readonly seq: number;
  readonly isOver: boolean;
}

const pollMs = 1_500;
const pageSize = 1_000;
const nothing: EventLog = { events: [], seq: 0, isOver: false };

interface LogQuery {
  /** A run, or a tree. */
  readonly run: string;
  /** Whether other runs are left out. */
  readonly own?: boolean;
  /** Event types or prefixes of them. Empty: all. */
  readonly types?: readonly string[];
}

/** Reads the events after the known ones. */
async function readOn(
  { run, own = false, types = [] }: LogQuery,
  known: EventLog,
  signal: AbortSignal,
): Promise<EventLog> {
  const wanted = types.length === 0 ? [] : [...types, "run.end"];
  const events: TreeEvent[] = [];
  let { seq, isOver } = known;
  for (let isMore = true; isMore;) {
    const query = new URLSearchParams({ after: String(seq), size: String(pageSize), own: String(own) });
    if (wanted.length > 0) query.set("type", wanted.join(","));
    const page: LogPage = await request<LogPage>(`/runs/${segment(run)}/log?${query.toString()}`, { signal });
    const root = run.includes("~") ? run : `${run}~0`;
    isOver ||= page.items.some(({ type, runId }) => type === "run.end" && runId === root);
    events.push(...page.items);
    seq = page.seq;
    isMore = page.next !== null;
  }
  // The same list if nothing came: what was computed from it stays.
  return { events: events.length === 0 ? known.events : [...known.events, ...events], seq, isOver };
}

/** Reads the events of a tree or a run, and continues while it is live. */
export function useEvents(query: LogQuery): UseQueryResult<EventLog> {
  const queries = useQueryClient();
  const queryKey = ["events", query.run, query.own ?? false, ...(query.types ?? [])];
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => readOn(query, queries.getQueryData<EventLog>(queryKey) ?? nothing, signal),
    refetchInterval: ({ state }) => (state.data?.isOver ? false : pollMs),
    staleTime: 1_000,
    structuralSharing: false,
  });
}

const stepTypes = ["model", "tool", "budget", "guardrail", "permission", "approval"];

/** The steps of one run, or of a whole tree, in the order in which they began; null: not read yet. */
export function useSteps(query: Omit<LogQuery, "types">): {
  readonly steps: readonly StepFigures[] | null;
  readonly error: Error | null;
} {
  const { data, error } = useEvents({ ...query, types: stepTypes });
  const events = data?.events;
  const steps = useMemo(() => {
    if (!events) return null;
    const log = new StepLog();
    for (const event of events) log.apply(event);
    return log.steps();
  }, [events]);
  return { steps, error };
}
