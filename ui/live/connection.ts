import { useSyncExternalStore } from "react";

/** Parts of the page that wait for the server, and since when. */
const lost = new Map<string, number>();
const listeners = new Set<() => void>();
let since: number | null = null;

/** Tells whether a part of the page is heard by the server. */
export function setHeard(part: string, isHeard: boolean): void {
  if (isHeard) lost.delete(part);
  else if (!lost.has(part)) lost.set(part, Date.now());
  const oldest = lost.size === 0 ? null : Math.min(...lost.values());
  if (oldest === since) return;
  since = oldest;
  for (const each of listeners) each();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Returns since when the server does not answer; null: it does. */
export const useLost = (): number | null => useSyncExternalStore(subscribe, () => since);
