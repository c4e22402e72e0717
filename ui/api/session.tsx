import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext } from "react";
import { Failure, Skeleton } from "../parts/states.tsx";
import { SignIn } from "../shell/sign-in.tsx";
import { ApiError, errorText, request } from "./http.ts";
import type { Me, Scope } from "./records.ts";

const Session = createContext<Me | null>(null);

/** Reads the user's session, and asks for a key if the server requires one. */
export function WithSession({ children }: { readonly children: ReactNode }): ReactNode {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["me"],
    queryFn: () => request<Me>("/me"),
    staleTime: Infinity,
  });
  if (data) return <Session value={data}>{children}</Session>;
  if (error instanceof ApiError && error.status === 401)
    return <SignIn onSignedIn={() => void queries.invalidateQueries()} />;
  if (error)
    return (
      <Failure title="The server does not answer" detail={errorText(error)} onRetry={() => void refetch()} />
    );
  return <Skeleton label="Reeve" />;
}

/** Returns the holder of the key. */
export function useMe(): Me {
  const me = useContext(Session);
  if (!me) throw new Error("useMe needs WithSession above it");
  return me;
}

/** Returns the reason why the reader may not do something; null: they may. */
export function useLock(scope: Scope): string | null {
  const { scopes } = useMe();
  return scopes.includes(scope) || scopes.includes("admin") ? null : `Your key lacks the scope ${scope}`;
}
