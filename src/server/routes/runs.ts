import { Page, SessionId, TreeId, UserId } from "#kernel";
import { whose } from "../auth.ts";
import { answer, type Route, route } from "../route.ts";
import { priority, shape } from "../shape.ts";
import { agentOf } from "./agents.ts";
import { heardOf } from "./heard-of.ts";
import { runOf } from "./run-of.ts";

function cursor(after: string): string {
  Page.request({ size: 1, after });
  return after;
}

/** Which page of a list. */
export const page = {
  size: shape.optional(shape.whole({ min: 1, max: 1_000 })),
  after: shape.optional(shape.id(cursor, "a page")),
} as const;

const statuses = [
  "pending",
  "running",
  "waiting",
  "paused",
  "completed",
  "landed",
  "failed",
  "cancelled",
] as const;

const start = shape.object({
  agent: shape.text(),
  input: shape.text({ max: 1_000_000 }),
  id: shape.optional(shape.id(TreeId.of, "a tree")),
  user: shape.optional(shape.id(UserId.of, "a user")),
  session: shape.optional(shape.id(SessionId.of, "a session")),
  onBusy: shape.optional(shape.oneOf(["refuse", "queue"])),
  channel: shape.optional(shape.text()),
  metadata: shape.optional(shape.record()),
  retention: shape.optional(shape.oneOf(["none", "run", "permanent"])),
  priority: shape.optional(priority),
  deadlineS: shape.optional(shape.amount()),
  budget: shape.optional(
    shape.object({
      maxTokens: shape.optional(shape.whole()),
      maxCostUsd: shape.optional(shape.amount()),
      maxTurns: shape.optional(shape.whole()),
      deadlineS: shape.optional(shape.amount()),
    }),
  ),
  spawn: shape.optional(
    shape.object({
      maxAgents: shape.optional(shape.whole({ min: 1 })),
      allowPreempt: shape.optional(shape.flag()),
    }),
  ),
});

const filter = shape.object({
  ...page,
  status: shape.optional(shape.oneOf(statuses)),
  agent: shape.optional(shape.text()),
  user: shape.optional(shape.id(UserId.of, "a user")),
  session: shape.optional(shape.id(SessionId.of, "a session")),
  roots: shape.optional(shape.flag()),
});

export const runRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/runs",
    scope: "run",
    room: "starts",
    summary: "Start a tree; the same id again is the same tree",
    body: start,
    handle: async (call) => {
      const { host, principal } = call;
      const { agent, input, ...options } = call.body;
      const run = await host.runtime.start(agentOf(host, agent), input, { ...options, ...whose(principal) });
      host.recent.add(principal, run.treeId);
      // What waits for its turn tells nothing before.
      if (options.onBusy !== "queue") call.hold(heardOf(call, run.treeId));
      return answer({ treeId: run.treeId, runId: run.runId }, 202);
    },
  }),
  route({
    method: "get",
    path: "/runs",
    scope: "read",
    summary: "Runs, newest first",
    query: filter,
    handle: async ({ host, principal, query }) => {
      const { size = 50, after, status, agent, user, session, roots } = query;
      const wanted = {
        ...whose(principal),
        ...(status !== undefined && { status }),
        ...(agent !== undefined && { agentType: agent }),
        ...(user !== undefined && { userId: user }),
        ...(session !== undefined && { sessionId: session }),
        ...(roots !== undefined && { rootsOnly: roots }),
      };
      return answer(await host.runtime.runs.list(wanted, { size, ...(after !== undefined && { after }) }));
    },
  }),
  route({
    method: "get",
    path: "/runs/:run",
    scope: "read",
    room: "calls",
    summary: "Where a run stands",
    handle: async (call) => {
      const run = await runOf(call);
      return answer({ treeId: run.treeId, runId: run.runId, status: await run.status() });
    },
  }),
  route({
    method: "get",
    path: "/runs/:run/result",
    scope: "read",
    room: "calls",
    summary: "What a run left behind; null while it lives",
    handle: async (call) => answer(await (await runOf(call)).outcome()),
  }),
  route({
    method: "get",
    path: "/runs/:run/tree",
    scope: "read",
    summary: "Every run of its tree, in the order they were hired",
    handle: async (call) => {
      const { treeId } = await runOf(call);
      return answer({ treeId, items: await call.host.runtime.runs.tree(treeId, whose(call.principal)) });
    },
  }),
  route({
    method: "get",
    path: "/runs/:run/obstacle",
    scope: "read",
    summary: "What keeps a run from going on, such as a build that is gone; null: nothing",
    handle: async (call) => answer(await (await runOf(call)).obstacle()),
  }),
  route({
    method: "get",
    path: "/runs/:run/ledger",
    scope: "read",
    room: "calls",
    summary: "What the tree and the run may spend, have spent, hold reserved and have in doubt",
    handle: async (call) => answer(await (await runOf(call)).ledger()),
  }),
];
