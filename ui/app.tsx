import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense } from "react";
import { Redirect, Route, Router, Switch } from "wouter";
import { ApiError, pageBase } from "./api/http.ts";
import { WithSession } from "./api/session.tsx";
import { LiveLists } from "./live/live-lists.tsx";
import { NothingHere, Skeleton } from "./parts/states.tsx";
import { RunsScreen } from "./runs/runs-screen.tsx";
import { Shell } from "./shell/shell.tsx";

const RunScreen = lazy(async () => ({ default: (await import("./run/run-screen.tsx")).RunScreen }));
const ApprovalsScreen = lazy(async () => ({
  default: (await import("./approvals/approvals-screen.tsx")).ApprovalsScreen,
}));
const PlayScreen = lazy(async () => ({ default: (await import("./play/play-screen.tsx")).PlayScreen }));

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, { queryKey }) => {
      // The session has ended: the shell asks for a key.
      const isRefused = error instanceof ApiError && error.status === 401;
      if (isRefused && queryKey[0] !== "me") void queries.resetQueries({ queryKey: ["me"] });
    },
  }),
  defaultOptions: { queries: { retry: false, refetchOnWindowFocus: true } },
});

/** The whole page. */
export function App(): ReactNode {
  return (
    <QueryClientProvider client={queries}>
      <Router base={pageBase}>
        <WithSession>
          <LiveLists>
            <Shell>
              <Suspense fallback={<Skeleton label="Reeve" />}>
                <Switch>
                  <Route path="/runs" component={RunsScreen} />
                  <Route path="/runs/:tree">
                    {({ tree }) => <RunScreen key={tree} tree={decodeURIComponent(tree)} />}
                  </Route>
                  <Route path="/approvals/:id?">
                    {({ id }) => <ApprovalsScreen id={id === undefined ? null : decodeURIComponent(id)} />}
                  </Route>
                  <Route path="/play/:agent?">
                    {({ agent }) => (
                      <PlayScreen agent={agent === undefined ? null : decodeURIComponent(agent)} />
                    )}
                  </Route>
                  <Route path="/">
                    <Redirect to="/runs" replace />
                  </Route>
                  <Route>
                    <NothingHere />
                  </Route>
                </Switch>
              </Suspense>
            </Shell>
          </LiveLists>
        </WithSession>
      </Router>
    </QueryClientProvider>
  );
}
