import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { InertText } from "./inert-text.tsx";

/** A short message about something that was done, and how to take it back. */
interface Notice {
  readonly text: string;
  readonly undo?: () => void;
}

let current: Notice | null = null;
const listeners = new Set<() => void>();

/** Shows a message for eight seconds. A newer one takes its place. */
export function notify(text: string, undo?: () => void): void {
  current = undo ? { text, undo } : { text };
  for (const each of listeners) each();
}

function dismiss(): void {
  current = null;
  for (const each of listeners) each();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

const shownMs = 8_000;

/** The place of messages, and the one live region of the page: polite, and never with the stream in it. */
export function Toasts({ children }: { readonly children: ReactNode }): ReactNode {
  const notice = useSyncExternalStore(subscribe, () => current);
  useEffect(() => {
    if (!notice) return;
    const timer = setTimeout(dismiss, shownMs);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <div className="toasts" role="status" aria-atomic="false">
      {children}
      {notice && (
        <div className="tst">
          <span>
            <InertText text={notice.text} />
          </span>
          {notice.undo && (
            <button
              type="button"
              onClick={() => {
                notice.undo?.();
                dismiss();
              }}
            >
              Undo
            </button>
          )}
        </div>
      )}
    </div>
  );
}
