import { useSyncExternalStore } from "react";

/** One timer for all clocks of the page: it ticks once a second, while one is shown. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Returns the time, which changes once a second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => (timer ? now : (now = Date.now())));
