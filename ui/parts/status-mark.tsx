import type { ReactNode } from "react";

/** A displayed status: a run that waits for a user needs you. */
export type ShownStatus =
  | "pending"
  | "running"
  | "waiting"
  | "needs you"
  | "paused"
  | "completed"
  | "landed"
  | "failed"
  | "cancelled";

const round = <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.6" />;

const marks: Readonly<Record<ShownStatus, { readonly tone: string; readonly mark: ReactNode }>> = {
  pending: { tone: "off", mark: round },
  running: { tone: "run", mark: <circle cx="6" cy="6" r="4.6" fill="currentColor" /> },
  waiting: {
    tone: "wait",
    mark: (
      <>
        {round}
        <path d="M6 2a4 4 0 0 1 0 8z" fill="currentColor" />
      </>
    ),
  },
  "needs you": { tone: "ask", mark: <path d="M6 1 11.3 10.5H.7z" fill="currentColor" /> },
  paused: { tone: "hold", mark: <path d="M2.5 1.5h2.4v9H2.5zM7.1 1.5h2.4v9H7.1z" fill="currentColor" /> },
  completed: {
    tone: "ok",
    mark: (
      <path
        d="m1.8 6.5 2.8 2.8 5.6-6.3"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    ),
  },
  landed: { tone: "land", mark: <path d="M1.5 3.5h9L6 10z" fill="currentColor" /> },
  failed: {
    tone: "bad",
    mark: <path d="m2.5 2.5 7 7m0-7-7 7" stroke="currentColor" strokeWidth="2.2" strokeLinecap="round" />,
  },
  cancelled: {
    tone: "off",
    mark: (
      <>
        {round}
        <path d="m3 9 6-6" stroke="currentColor" strokeWidth="1.6" />
      </>
    ),
  },
};

/** The colour of a status, as a class. */
export const toneOf = (status: ShownStatus): string => marks[status].tone;

/** Shows the icon of a status and its text, which narrow layouts hide only visually. */
export function StatusMark({
  status,
  text = status,
  markOnly = false,
}: {
  readonly status: ShownStatus;
  /** The text. Default: that of the status. */
  readonly text?: string;
  readonly markOnly?: boolean;
}): ReactNode {
  const { tone, mark } = marks[status];
  return (
    <span className={`st ${tone}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        {mark}
      </svg>
      <span className={markOnly ? "for-readers" : ""}>{text}</span>
    </span>
  );
}
