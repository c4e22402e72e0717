import { useEffect, useRef } from "react";

/** A key that was meant for the question before must not decide the next one. */
const settleMs = 600;

/** Returns a function that reports whether the same content has been shown long enough to decide on it. */
export function useSettled(key: string): () => boolean {
  const since = useRef(0);
  useEffect(() => {
    since.current = performance.now();
  }, [key]);
  return () => performance.now() - since.current >= settleMs;
}
