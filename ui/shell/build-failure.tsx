import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { request } from "../api/http.ts";
import { useMe } from "../api/session.tsx";
import { InertText } from "../parts/inert-text.tsx";

interface DevStatus {
  readonly dev: { readonly failure: string | null } | null;
}

const pollMs = 2_000;

/** The reason why the newest code does not load, in `reeve dev`. Renders nothing if it loads. */
export function BuildFailure(): ReactNode {
  const isDev = useMe().dev !== null;
  const { data } = useQuery({
    queryKey: ["dev status"],
    queryFn: ({ signal }) => request<DevStatus>("/status", { signal }),
    enabled: isDev,
    refetchInterval: pollMs,
  });
  const failure = data?.dev?.failure ?? null;
  if (failure === null) return null;
  return (
    <div className="build-failure" role="alert">
      <b>The newest code does not load.</b> The previous build still serves.
      <pre className="mono">
        <InertText text={failure} />
      </pre>
    </div>
  );
}
