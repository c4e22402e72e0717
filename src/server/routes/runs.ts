import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Page, RunId, type RunRecord, RunStatus, SessionId, StopReason, UserId } from "#kernel";
import { type Principal, whose } from "../auth.ts";
import { toJsonResponse, type Route, route, type ServerDeps } from "../route.ts";
import { actingUser, listedUser } from "../users.ts";
import { refuseRequest, type Shape, shape } from "../shape.ts";
import { checkServed, searchOf } from "../run-query.ts";
import { agentOf } from "./agents.ts";
import { addAsks, type ListedRun, listPending } from "../pending.ts";
import { withholdOutput } from "../withhold.ts";
import { findRun } from "./find-run.ts";
import { type Begin, startTree, turnFields } from "./start-tree.ts";

/** Large answers, which repeat the same names, are a tenth as long compressed. */
export async function toCompressedResponse(value: unknown, accepted: string): Promise<Response> {
  const headers = { "content-type": "application/json", vary: "accept-encoding" };
  const text = JSON.stringify(value);
  if (!/\bgzip\b/.test(accepted)) return new Response(text, { headers });
  const bytes = new Uint8Array(await promisify(gzip)(text));
  return new Response(bytes, { headers: { ...headers, "content-encoding": "gzip" } });
}

/** Returns the roots of trees with a call that waits for approval, among the newest 1,000. */
async function askingRoots({ runtime }: ServerDeps, principal: Principal): Promise<readonly RunId[]> {
  const trees = (await listPending(runtime, principal)).map(({ treeId }) => RunId.root(treeId));
  return [...new Set(trees)];
}

/** Adds to each run the number of calls that wait for approval. Ended runs have none, so nothing is read for them. */
async function withAsks(
  host: ServerDeps,
  principal: Principal,
  runs: readonly RunRecord[],
): Promise<readonly ListedRun[]> {
  const isLive = runs.some(({ endedAt }) => endedAt === null);
  return addAsks(runs, isLive ? await listPending(host.runtime, principal) : []);
}

function cursor(after: string): string {
  Page.request({ size: 1, after });
  return after;
}

/** Query parameters of a page of a list. */
export const page = {
  size: shape.optional(shape.integer({ min: 1, max: 1_000 })),
  after: shape.optional(shape.id(cursor, "a page")),
} as const;

const start = shape.object({
  ...turnFields,
  agent: shape.line(),
  user: shape.optional(shape.id(UserId.of, "a user")),
  session: shape.optional(shape.id(SessionId.of, "a session")),
  channel: shape.optional(shape.line()),
});

/** One status, or several separated by commas. */
const statuses: Shape<readonly RunStatus[]> = {
  schema: { type: "string", pattern: `^(${RunStatus.all.join("|")})(,(${RunStatus.all.join("|")}))*$` },
  decode: (value, at) =>
    [...new Set(String(value).split(","))].map((each) => shape.oneOf(RunStatus.all).decode(each, at)),
};

/** One stop reason, or several separated by commas. */
const stops: Shape<readonly StopReason[]> = {
  schema: { type: "string" },
  decode: (value, at) =>
    [...new Set(String(value).split(","))].map((each) => shape.oneOf(StopReason.all).decode(each, at)),
};

const filter = shape.object({
  ...page,
  status: shape.optional(statuses),
  stop: shape.optional(stops),
  since: shape.optional(shape.integer()),
  until: shape.optional(shape.integer()),
  agent: shape.optional(shape.line()),
  user: shape.optional(shape.id(UserId.of, "a user")),
  session: shape.optional(shape.id(SessionId.of, "a session")),
  roots: shape.optional(shape.flag()),
  asks: shape.optional(shape.flag()),
  id: shape.optional(shape.line()),
  name: shape.optional(shape.line()),
  minSpend: shape.optional(shape.integer()),
});

export const runRoutes: readonly Route[] = [
  route({
    method: "post",
    path: "/runs",
    scope: "run",
    forUsers: true,
    pool: "starts",
    takesFiles: true,
    summary: "Start a tree; the same id again is the same tree",
    body: start,
    handle: async (call) => {
      const { host, principal } = call;
      const { agent: name, user: named, session, channel, ...turn } = call.body;
      if (turn.after !== undefined && session === undefined)
        refuseRequest("body.after", "names an entry of a session: give `session`, too");
      const user = actingUser(principal, named, "body.user");
      const agent = agentOf(host, name);
      const owner = { ...whose(principal), ...(user !== null && { user }) };
      const place = {
        ...owner,
        ...(session !== undefined && { session }),
        ...(channel !== undefined && { channel }),
      };
      const begin: Begin = (input, options) => host.runtime.start(agent, input, { ...options, ...place });
      return startTree(call, { agent, user, turn, begin });
    },
  }),
  route({
    method: "get",
    path: "/runs",
    scope: "read",
    forUsers: true,
    summary: "Runs, newest first",
    query: filter,
    handle: async ({ host, principal, query }) => {
      const { size = 50, after, status, stop, since, until, agent, session, roots } = query;
      const user = listedUser(principal, query.user);
      checkServed({ ...query, user });
      const wantedPage = { size, ...(after !== undefined && { after }) };
      const search = searchOf(query);
      if (search) {
        const trees = await host.runtime.runs.search({ ...search, ...whose(principal) }, wantedPage);
        return toJsonResponse({ ...trees, items: await withAsks(host, principal, trees.items) });
      }
      const wanted = {
        ...whose(principal),
        ...(status !== undefined && { status }),
        ...(stop !== undefined && { stopReason: stop }),
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
        ...(agent !== undefined && { agentType: agent }),
        ...(user !== undefined && { userId: user }),
        ...(session !== undefined && { sessionId: session }),
        ...(roots !== undefined && { rootsOnly: roots }),
        ...(query.asks === true && { runIds: await askingRoots(host, principal) }),
      };
      const found = await host.runtime.runs.list(wanted, wantedPage);
      return toJsonResponse({ ...found, items: await withAsks(host, principal, found.items) });
    },
  }),
  route({
    method: "get",
    path: "/runs/:run",
    scope: "read",
    forUsers: true,
    pool: "calls",
    summary: "The status of a run",
    handle: async (call) => {
      const run = await findRun(call);
      return toJsonResponse({ treeId: run.treeId, runId: run.runId, status: await run.status() });
    },
  }),
  route({
    method: "get",
    path: "/runs/:run/result",
    scope: "read",
    forUsers: true,
    pool: "calls",
    summary: "The result of a run; null while it is alive. Without the scope content it has no output",
    handle: async (call) => {
      const result = await (await findRun(call)).resultNow();
      return toJsonResponse(result && withholdOutput(call.principal, result));
    },
  }),
  route({
    method: "get",
    path: "/runs/:run/tree",
    scope: "read",
    forUsers: true,
    summary: "Every run of its tree, in the order they were spawned",
    handle: async (call) => {
      const { treeId } = await findRun(call);
      return toJsonResponse({
        treeId,
        items: await call.host.runtime.runs.tree(treeId, whose(call.principal)),
      });
    },
  }),
  route({
    method: "get",
    path: "/runs/:run/view",
    scope: "read",
    forUsers: true,
    summary: "The view of its tree up to the event `seq`; `/events?after=<seq>` has the rest",
    handle: async (call) => {
      const { host, principal, header } = call;
      const { treeId } = await findRun(call);
      const snapshot = await host.snapshots.read(principal, treeId);
      return toCompressedResponse(snapshot, header("accept-encoding") ?? "");
    },
  }),
  route({
    method: "get",
    path: "/runs/:run/blocker",
    scope: "read",
    forUsers: true,
    summary: "What blocks a run, such as a build without workers; null if nothing does",
    handle: async (call) => toJsonResponse(await (await findRun(call)).blocker()),
  }),
  route({
    method: "get",
    path: "/runs/:run/ledger",
    scope: "read",
    forUsers: true,
    pool: "calls",
    summary: "Limits, spend, reservations and amounts in doubt of the tree and the run",
    handle: async (call) => toJsonResponse(await (await findRun(call)).ledger()),
  }),
];
