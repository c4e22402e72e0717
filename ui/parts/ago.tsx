import type { ReactNode } from "react";
import { dayTime, span } from "./amounts.ts";
import { useNow } from "./use-now.ts";

/** The time since a moment, and the moment itself on hover, in UTC. */
export function Ago({ at, suffix = "" }: { readonly at: number; readonly suffix?: string }): ReactNode {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={`${dayTime(at)}, ${new Date(at).toISOString()}`}>
      {span(now - at)}
      {suffix}
    </time>
  );
}
