import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense } from "react";
import { Redirect, Route, Router, Switch } from "wouter";
import { ApiError, pageBase } from "./api/http.ts";
import { useMe, WithSession } from "./api/session.tsx";
import { LiveLists } from "./live/live-lists.tsx";
import { NothingHere, Skeleton } from "./parts/states.tsx";
import { RunsScreen } from "./runs/runs-screen.tsx";
import { Shell } from "./shell/shell.tsx";

const RunScreen = lazy(async () => ({ default: (await import("./run/run-screen.tsx")).RunScreen }));
const StepScreen = lazy(async () => ({ default: (await import("./step/step-screen.tsx")).StepScreen }));
const ApprovalsScreen = lazy(async () => ({
  default: (await import("./approvals/approvals-screen.tsx")).ApprovalsScreen,
}));
const SpendScreen = lazy(async () => ({ default: (await import("./spend/spend-screen.tsx")).SpendScreen }));
const AuditScreen = lazy(async () => ({ default: (await import("./audit/audit-screen.tsx")).AuditScreen }));
const AgentsScreen = lazy(async () => ({
  default: (await import("./agents/agents-screen.tsx")).AgentsScreen,
}));
const AgentScreen = lazy(async () => ({ default: (await import("./agents/agent-screen.tsx")).AgentScreen }));
const SessionsScreen = lazy(async () => ({
  default: (await import("./sessions/sessions-screen.tsx")).SessionsScreen,
}));
const SessionScreen = lazy(async () => ({
  default: (await import("./sessions/session-screen.tsx")).SessionScreen,
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

/** Redirects developers to the playground, all other users to the list. */
function FirstScreen(): ReactNode {
  return <Redirect to={useMe().dev === null ? "/runs" : "/play"} replace />;
}

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
                  <Route path="/runs/:tree/:tab?">
                    {({ tree, tab = "tree" }) => (
                      <RunScreen key={tree} tree={decodeURIComponent(tree)} tab={tab} />
                    )}
                  </Route>
                  <Route path="/runs/:tree/:number/:step">
                    {({ tree, number, step }) => (
                      <StepScreen
                        tree={decodeURIComponent(tree)}
                        number={decodeURIComponent(number)}
                        place={decodeURIComponent(step)}
                      />
                    )}
                  </Route>
                  <Route path="/approvals/:id?">
                    {({ id }) => <ApprovalsScreen id={id === undefined ? null : decodeURIComponent(id)} />}
                  </Route>
                  <Route path="/spend" component={SpendScreen} />
                  <Route path="/audit/:link?">
                    {({ link }) => <AuditScreen link={link === undefined ? null : Number(link)} />}
                  </Route>
                  <Route path="/agents" component={AgentsScreen} />
                  <Route path="/agents/:name">
                    {({ name }) => <AgentScreen name={decodeURIComponent(name)} />}
                  </Route>
                  <Route path="/sessions" component={SessionsScreen} />
                  <Route path="/sessions/:id">
                    {({ id }) => <SessionScreen key={id} id={decodeURIComponent(id)} />}
                  </Route>
                  <Route path="/play/:agent?">
                    {({ agent }) => (
                      <PlayScreen agent={agent === undefined ? null : decodeURIComponent(agent)} />
                    )}
                  </Route>
                  <Route path="/">
                    <FirstScreen />
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
