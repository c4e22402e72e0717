import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import { useApprovals } from "../api/queries.ts";

/** The time between two announcements that the reader did not cause. */
const quietMs = 5_000;

let spoken = "";
let waiting: readonly string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function speak(text: string): void {
  // Screen readers announce a repeated text only if it differs.
  spoken = text === spoken ? `${text}\u00A0` : text;
  for (const each of listeners) each();
}

function announceNext(): void {
  timer = undefined;
  if (waiting.length === 0) return;
  speak(waiting.join(". "));
  waiting = [];
  timer = setTimeout(announceNext, quietMs);
}

/** Tells a screen reader that something needs the reader or has ended: at most once in 5 s, all of it together. */
function announce(text: string): void {
  waiting = [...waiting, text];
  if (timer === undefined) announceNext();
}

/** Announces the outcome of a user's action to screen readers at once. */
export function announceNow(text: string): void {
  speak(text);
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Text for screen readers alone, in the live region of the page. */
export function Announcer(): ReactNode {
  const text = useSyncExternalStore(subscribe, () => spoken);
  useNewQuestions();
  return (
    <div className="for-readers" data-announcer="">
      {text}
    </div>
  );
}

/** Announces questions that have come since the page was opened. */
function useNewQuestions(): void {
  const { data } = useApprovals("pending");
  const known = useRef<ReadonlySet<string> | null>(null);
  useEffect(() => {
    if (!data) return;
    const before = known.current;
    known.current = new Set(data.map(({ id }) => id));
    for (const { id, agentId, tool, asks } of before ? data : [])
      if (!before?.has(id))
        announce(asks ? `${agentId} asks a question` : `${agentId}: waiting for approval of ${tool}`);
  }, [data]);
}

/** Announces the end of something that was shown while it lived. */
export function useEndAnnouncement(name: string, end: string | null): void {
  const wasLive = useRef(false);
  useEffect(() => {
    if (end === null) wasLive.current = true;
    else if (wasLive.current) {
      wasLive.current = false;
      announce(`${name}: ${end}`);
    }
  }, [name, end]);
}
