import { useSyncExternalStore } from "react";
import type { ServerStatus } from "./messages.ts";

const listeners = new Set<() => void>();
let status: ServerStatus = {
  lostSince: null,
  isStoreGone: false,
  lagMs: null,
  failedWrites: null,
  reducedTrees: null,
  noWorkerSince: null,
  isRefused: false,
};

/** Sets the state of the server, as reported by the stream. */
export function setStatus(next: ServerStatus): void {
  if (next === status) return;
  status = next;
  for (const each of listeners) each();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Returns the state of the server. */
export const useServerStatus = (): ServerStatus => useSyncExternalStore(subscribe, () => status);
