import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Redirect, Route, Router, Switch } from "wouter";
import { ApiError, pageBase } from "./api/http.ts";
import { useMe, WithSession } from "./api/session.tsx";
import { LiveLists } from "./live/live-lists.tsx";
import { lateScreen } from "./parts/late-screen.tsx";
import { NothingHere } from "./parts/states.tsx";
import { runScreen } from "./run/late-run-screen.ts";
import { RunsScreen } from "./runs/runs-screen.tsx";
import { Shell } from "./shell/shell.tsx";

const late = {
  step: lateScreen("Step", async () => (await import("./step/step-screen.tsx")).StepScreen),
  approvals: lateScreen(
    "Approvals",
    async () => (await import("./approvals/approvals-screen.tsx")).ApprovalsScreen,
  ),
  spend: lateScreen("Spend", async () => (await import("./spend/spend-screen.tsx")).SpendScreen),
  audit: lateScreen("Audit", async () => (await import("./audit/audit-screen.tsx")).AuditScreen),
  agents: lateScreen("Agents", async () => (await import("./agents/agents-screen.tsx")).AgentsScreen),
  agent: lateScreen("Agent", async () => (await import("./agents/agent-screen.tsx")).AgentScreen),
  sessions: lateScreen(
    "Sessions",
    async () => (await import("./sessions/sessions-screen.tsx")).SessionsScreen,
  ),
  session: lateScreen("Session", async () => (await import("./sessions/session-screen.tsx")).SessionScreen),
  play: lateScreen("Playground", async () => (await import("./play/play-screen.tsx")).PlayScreen),
};

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
              <Switch>
                <Route path="/runs" component={RunsScreen} />
                <Route path="/runs/:tree/:tab?">
                  {({ tree, tab = "tree" }) => (
                    <runScreen.Screen key={tree} tree={decodeURIComponent(tree)} tab={tab} />
                  )}
                </Route>
                <Route path="/runs/:tree/:number/:step">
                  {({ tree, number, step }) => (
                    <late.step.Screen
                      tree={decodeURIComponent(tree)}
                      number={decodeURIComponent(number)}
                      place={decodeURIComponent(step)}
                    />
                  )}
                </Route>
                <Route path="/approvals/:id?">
                  {({ id }) => (
                    <late.approvals.Screen id={id === undefined ? null : decodeURIComponent(id)} />
                  )}
                </Route>
                <Route path="/spend" component={late.spend.Screen} />
                <Route path="/audit/:link?">
                  {({ link }) => <late.audit.Screen link={link === undefined ? null : Number(link)} />}
                </Route>
                <Route path="/agents" component={late.agents.Screen} />
                <Route path="/agents/:name">
                  {({ name }) => <late.agent.Screen name={decodeURIComponent(name)} />}
                </Route>
                <Route path="/sessions" component={late.sessions.Screen} />
                <Route path="/sessions/:id">
                  {({ id }) => <late.session.Screen key={id} id={decodeURIComponent(id)} />}
                </Route>
                <Route path="/play/:agent?">
                  {({ agent }) => (
                    <late.play.Screen agent={agent === undefined ? null : decodeURIComponent(agent)} />
                  )}
                </Route>
                <Route path="/">
                  <FirstScreen />
                </Route>
                <Route>
                  <NothingHere />
                </Route>
              </Switch>
            </Shell>
          </LiveLists>
        </WithSession>
      </Router>
    </QueryClientProvider>
  );
}
