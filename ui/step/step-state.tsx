import type { ReactNode } from "react";
import { costOf, type StepFigures, type StepState } from "#view";
import { dollars } from "../parts/amounts.ts";
import { type ShownStatus, StatusMark } from "../parts/status-mark.tsx";

const statuses: Readonly<Record<StepState, ShownStatus>> = {
  running: "running",
  completed: "completed",
  failed: "failed",
  unknown: "landed",
  lost: "cancelled",
};
const words: Readonly<Record<StepState, string>> = {
  running: "running",
  completed: "completed",
  failed: "failed",
  unknown: "outcome unknown",
  lost: "lost",
};

/** The icon of a step and its text. */
export function StepMark({
  state,
  markOnly = false,
}: {
  readonly state: StepState;
  readonly markOnly?: boolean;
}): ReactNode {
  return <StatusMark status={statuses[state]} text={words[state]} markOnly={markOnly} />;
}

/** Seconds to a tenth, or milliseconds. */
export const seconds = (ms: number): string =>
  ms < 100 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

/** The time of all attempts; null: one has not ended. */
export function durationOf({ attempts }: StepFigures): number | null {
  return attempts.reduce<number | null>((sum, { ms }) => (sum === null || ms === null ? null : sum + ms), 0);
}

/** The money of a step: booked, or at most this much while it is in flight. A tool without money: its time. */
export function amountText(step: StepFigures): string {
  const { settledMicros, reservedMicros } = costOf(step);
  if (reservedMicros > 0) return `≤ ${dollars(settledMicros + reservedMicros)}`;
  if (step.kind === "model" || settledMicros > 0) return dollars(settledMicros);
  const ms = durationOf(step);
  return ms === null ? "" : seconds(ms);
}
